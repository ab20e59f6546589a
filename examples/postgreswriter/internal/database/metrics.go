package database

import (
	"context"
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// deleted is the change of Delete, for the metrics.
const deleted Change = "Deleted"

// operations are the values of the label operation.
var operations = map[Change]string{Inserted: "insert", Updated: "update", Moved: "move", deleted: "delete"}

// metrics count the work of Rows. The number of rows is what the operations saw: a scrape sends no query.
type metrics struct {
	writes *prometheus.CounterVec
	errors prometheus.Counter
	rows   *prometheus.GaugeVec

	mu      sync.Mutex
	tableOf map[string]string // by key
}

func newMetrics(tables []string) *metrics {
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postgreswriter_row_writes_total",
			Help: "Committed changes of rows.",
		}, []string{"operation"}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "postgreswriter_database_errors_total",
			Help: "Operations that failed because the database was unavailable, or because a table was missing or refused the row.",
		}),
		rows: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "postgreswriter_rows",
			Help: "Rows of PostgresWriters, as the operator last saw them.",
		}, []string{"table"}),
		tableOf: map[string]string{},
	}
	for _, operation := range operations {
		m.writes.WithLabelValues(operation)
	}
	for _, table := range tables {
		m.rows.WithLabelValues(table)
	}
	return m
}

// Collectors returns the metrics of r, for a registry.
func (r *Rows) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.metrics.writes, r.metrics.errors, r.metrics.rows}
}

// Forget ends the count of the row with the key. Call Forget if a row may exist, but no longer belongs to a
// PostgresWriter.
func (r *Rows) Forget(key string) { r.metrics.saw(key, "") }

// wrote counts a change after which the row is in the table.
func (m *metrics) wrote(key, table string, change Change) {
	if operation, isWrite := operations[change]; isWrite {
		m.writes.WithLabelValues(operation).Inc()
	}
	m.saw(key, table)
}

// saw counts the row in the table, and in no table if the name is empty.
func (m *metrics) saw(key, table string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.tableOf[key]
	if before == table {
		return
	}
	if before != "" {
		m.rows.WithLabelValues(before).Dec()
	}
	if table == "" {
		delete(m.tableOf, key)
		return
	}
	m.tableOf[key] = table
	m.rows.WithLabelValues(table).Inc()
}

// failure counts err and returns it as an *Error.
func (r *Rows) failure(err error) error {
	err = toError(err)
	known, ok := errors.AsType[*Error](err)
	if !ok || !known.isDatabaseError() || errors.Is(err, context.Canceled) {
		return err
	}
	r.metrics.errors.Inc()
	if known.Reason == Unavailable {
		select {
		case r.unavailable <- struct{}{}:
		default: // the receiver has not noticed the last failure yet
		}
	}
	return err
}

// isDatabaseError reports whether the database or a table caused the error. The other errors are refusals
// by the rules of the operator.
func (e *Error) isDatabaseError() bool {
	switch e.Reason {
	case TableNotAllowed, RowExists, NotActive:
		return false
	}
	return true
}
