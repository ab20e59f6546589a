package record

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// A Recording holds the samples of a run, at even intervals, and the acts. It may be written and
// queried at the same time.
type Recording struct {
	interval time.Duration

	mu     sync.Mutex
	phases []Span
	acts   []Span
	series map[string]*series
	rounds int
	latest []Sample
}

// A Span is something that took a while.
type Span struct {
	Name string `json:"name"`
	// From and To are seconds since the recording began.
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// series has a value for each round of scrapes, NaN where there was none.
type series struct {
	labels labels.Labels
	values []float64
}

// New is an empty recording of scrapes that are an interval apart.
func New(interval time.Duration) *Recording {
	return &Recording{interval: interval, series: map[string]*series{}}
}

// Interval is how far apart the scrapes are.
func (r *Recording) Interval() time.Duration { return r.interval }

// Add adds a round of scrapes. Rounds that were left out are gaps; of two at once, as a slow machine may
// make them, the later counts.
func (r *Recording) Add(round int, samples []Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds, r.latest = round+1, samples
	for _, sample := range samples {
		r.at(sample.Series).put(round, sample.Value)
	}
}

func (r *Recording) at(of labels.Labels) *series {
	key := of.String()
	if r.series[key] == nil {
		r.series[key] = &series{labels: of}
	}
	return r.series[key]
}

func (s *series) put(round int, value float64) {
	for len(s.values) <= round {
		s.values = append(s.values, math.NaN())
	}
	s.values[round] = value
}

// Latest are the samples of the last round.
func (r *Recording) Latest() []Sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest
}

// Length is the time from the first round to the last.
func (r *Recording) Length() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(max(r.rounds-1, 0)) * r.interval
}

// Phase notes one of the parts of the run, which follow upon each other.
func (r *Recording) Phase(name string, from, to time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases = append(r.phases, span(name, from, to))
}

// Act notes something that was done.
func (r *Recording) Act(name string, from, to time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acts = append(r.acts, span(name, from, to))
}

func span(name string, from, to time.Duration) Span {
	tenths := func(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
	return Span{Name: name, From: tenths(from), To: tenths(to)}
}

// Phases are the parts of the run, in the order of time.
func (r *Recording) Phases() []Span { return r.inOrder(&r.phases) }

// Acts returns the acts in the order of their beginnings.
func (r *Recording) Acts() []Span { return r.inOrder(&r.acts) }

func (r *Recording) inOrder(spans *[]Span) []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(*spans), func(a, b Span) int {
		return cmp.Compare(a.From, b.From)
	})
}

// matching are copies of the series whose labels are right, by their labels.
func (r *Recording) matching(right func(labels.Labels) bool) []*series {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*series
	for _, key := range slices.Sorted(maps.Keys(r.series)) {
		if one := r.series[key]; right(one.labels) {
			found = append(found, &series{labels: one.labels, values: slices.Clone(one.values)})
		}
	}
	return found
}
