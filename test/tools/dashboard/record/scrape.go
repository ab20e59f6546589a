// Package record keeps the samples of a run, and answers queries with Prometheus' own engine.
package record

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// A Target is scraped: a URL, and the labels that Prometheus gives to all that comes from there.
type Target struct {
	URL    string
	Labels map[string]string
}

// A Sample is a value of a series.
type Sample struct {
	// Family is the metric of the sample: a histogram is one metric; its buckets, sum and count are
	// series.
	Family string
	Series labels.Labels
	Value  float64
}

// Scrape reads the metrics of a target.
func Scrape(ctx context.Context, target Target) (samples []Sample, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot scrape: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot scrape %s: %s", target.URL, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot parse what %s says: %w", target.URL, err)
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		found, err := flatten(families[name], target.Labels)
		if err != nil {
			return nil, err
		}
		samples = append(samples, found...)
	}
	return samples, nil
}

// flatten makes series of a family, as Prometheus stores them.
func flatten(family *dto.MetricFamily, target map[string]string) ([]Sample, error) {
	vector, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)
	if err != nil {
		return nil, fmt.Errorf("cannot read metric %s: %w", family.GetName(), err)
	}
	var samples []Sample
	for _, found := range vector {
		builder := labels.NewBuilder(labels.FromMap(target))
		for name, value := range found.Metric {
			builder.Set(string(name), string(value))
		}
		samples = append(samples, Sample{Family: family.GetName(), Series: builder.Labels(), Value: float64(found.Value)})
	}
	return samples, nil
}
