package record

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Parser is Prometheus' own, without anything experimental.
func Parser() parser.Parser { return parser.NewParser(parser.Options{}) }

// began is when the first round was, for the engine.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// At is the time since the first round, of a point that Range gave.
func At(point promql.FPoint) time.Duration { return time.UnixMilli(point.T).Sub(began) }

// Range evaluates a query at each round.
func (r *Recording) Range(ctx context.Context, query string) (promql.Matrix, error) {
	engine := newEngine()
	defer func() { _ = engine.Close() }()
	q, err := engine.NewRangeQuery(ctx, r, nil, query, began, began.Add(r.Length()), r.interval)
	if err != nil {
		return nil, fmt.Errorf("cannot parse %s: %w", query, err)
	}
	defer q.Close()
	matrix, err := q.Exec(ctx).Matrix()
	if err != nil {
		return nil, fmt.Errorf("cannot evaluate %s: %w", query, err)
	}
	for i := range matrix {
		matrix[i].Floats = slices.Clone(matrix[i].Floats) // the engine takes its points back
	}
	return matrix, nil
}

// Holds reports whether a query has any result in the last round.
func (r *Recording) Holds(ctx context.Context, query string) (bool, error) {
	engine := newEngine()
	defer func() { _ = engine.Close() }()
	q, err := engine.NewInstantQuery(ctx, r, nil, query, began.Add(r.Length()))
	if err != nil {
		return false, fmt.Errorf("cannot parse %s: %w", query, err)
	}
	defer q.Close()
	vector, err := q.Exec(ctx).Vector()
	if err != nil {
		return false, fmt.Errorf("cannot evaluate %s: %w", query, err)
	}
	return len(vector) > 0, nil
}

func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, Parser: Parser()})
}

// Querier lets the engine query the recording.
func (r *Recording) Querier(int64, int64) (storage.Querier, error) {
	return querier{storage.NoopQuerier(), r}, nil
}

type querier struct {
	storage.Querier

	recording *Recording
}

// Select finds the series that match.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{}
	for _, one := range q.recording.matching(labels.Selector(matchers).Matches) {
		found.rest = append(found.rest, storage.NewListSeries(one.labels, one.samples(q.recording.interval)))
	}
	return found
}

func (s *series) samples(interval time.Duration) []chunks.Sample {
	var samples []chunks.Sample
	for round, value := range s.values {
		if !math.IsNaN(value) {
			at := began.Add(time.Duration(round) * interval)
			samples = append(samples, sample{at.UnixMilli(), value})
		}
	}
	return samples
}

// sample is a value at a time in milliseconds.
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// seriesSet hands out series one after another.
type seriesSet struct {
	current storage.Series
	rest    []storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.current, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return s.current }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }
