package main

import (
	"bytes"
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// serverUsage returns the resources that the API server has used, from its metrics.
func (e *environment) serverUsage(ctx context.Context) (processUsage, error) {
	var used processUsage
	text, err := e.clients.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return used, fmt.Errorf("cannot read the metrics of the API server: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return used, fmt.Errorf("cannot parse the metrics of the API server: %w", err)
	}
	for _, metric := range families["process_cpu_seconds_total"].GetMetric() {
		used.seconds += metric.GetCounter().GetValue()
	}
	for _, metric := range families["etcd_requests_total"].GetMetric() {
		if isEtcdWrite(metric) {
			used.etcdWrites += metric.GetCounter().GetValue()
		}
	}
	return used, nil
}

// version returns the version of the API server.
func (e *environment) version() (string, error) {
	version, err := e.clients.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("cannot read the version of the API server: %w", err)
	}
	return version.GitVersion, nil
}

func isEtcdWrite(metric *dto.Metric) bool {
	for _, label := range metric.GetLabel() {
		if label.GetName() != "operation" {
			continue
		}
		switch label.GetValue() {
		case "create", "update", "delete":
			return true
		}
	}
	return false
}
