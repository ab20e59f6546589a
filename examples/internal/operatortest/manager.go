// Package operatortest is for the operators' unit tests.
package operatortest

import (
	"context"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// Manager is a manager that has clients, their indexes, and a recorder that forgets: enough
// to make a Reconciler, not to start one.
func Manager(c *ensuretest.Client) ctrl.Manager { return manager{c: c} }

type manager struct {
	ctrl.Manager // nil

	c *ensuretest.Client
}

func (m manager) GetClient() client.Client { return m.c }

func (m manager) GetAPIReader() client.Reader { return m.c.APIReader() }

func (m manager) GetFieldIndexer() client.FieldIndexer { return indexer(m) }

func (manager) GetEventRecorder(string) recorder.EventRecorder { return &events.FakeRecorder{} }

// indexer has the fake client find objects as a manager's cache does.
type indexer manager

func (i indexer) IndexField(_ context.Context, kind client.Object, field string, valuesOf client.IndexerFunc) error {
	return fake.AddIndex(i.c, kind, field, valuesOf)
}
