package record

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"sigs.k8s.io/yaml"
)

// file is how a recording is stored. The series are written as in promtool's unit tests.
type file struct {
	Interval    string        `json:"interval"`
	Phases      []Span        `json:"phases"`
	Acts        []Span        `json:"acts"`
	InputSeries []inputSeries `json:"input_series"`
}

type inputSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// Write stores the series that are worth keeping, by the names of their metrics, in a file.
func (r *Recording) Write(path string, keep func(name string) bool) error {
	out := file{Interval: r.interval.String(), Phases: r.Phases(), Acts: r.Acts()}
	worth := func(of labels.Labels) bool { return keep(of.Get(model.MetricNameLabel)) }
	for _, one := range r.matching(worth) {
		out.InputSeries = append(out.InputSeries, inputSeries{Series: metric(one.labels), Values: notation(one.values)})
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func metric(of labels.Labels) string {
	metric := model.Metric{}
	of.Range(func(l labels.Label) { metric[model.LabelName(l.Name)] = model.LabelValue(l.Value) })
	return metric.String()
}

// notation writes values as promtool takes them: 3x2 stands for 3 3 3, and _x2 for two gaps.
func notation(values []float64) string {
	var words []string
	for i := 0; i < len(values); {
		count := 1
		for i+count < len(values) && same(values[i], values[i+count]) {
			count++
		}
		words = append(words, word(values[i], count))
		i += count
	}
	return strings.Join(words, " ")
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func word(value float64, count int) string {
	if math.IsNaN(value) {
		return "_x" + strconv.Itoa(count)
	}
	text := strconv.FormatFloat(value, 'g', -1, 64)
	if count == 1 {
		return text
	}
	return text + "x" + strconv.Itoa(count-1)
}

// Read reads a file written by Write.
func Read(path string) (*Recording, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the recording: %w", err)
	}
	var in file
	if err := yaml.UnmarshalStrict(text, &in); err != nil {
		return nil, fmt.Errorf("cannot read the recording %s: %w", path, err)
	}
	interval, err := time.ParseDuration(in.Interval)
	if err != nil {
		return nil, fmt.Errorf("cannot read the recording %s: %w", path, err)
	}
	r := New(interval)
	r.phases, r.acts = in.Phases, in.Acts
	for _, one := range in.InputSeries {
		of, values, err := Parser().ParseSeriesDesc(one.Series + " " + one.Values)
		if err != nil {
			return nil, fmt.Errorf("cannot read the recording %s: %w", path, err)
		}
		for round, value := range values {
			if !value.Omitted {
				r.at(of).put(round, value.Value)
			}
		}
		r.rounds = max(r.rounds, len(values))
	}
	return r, nil
}
