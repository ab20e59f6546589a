// Package operatortest helps to test operators without a cluster.
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

// Manager returns a manager with the client c, the field indexer of c and a recorder that drops all
// events. The manager suffices to create a Reconciler, and cannot be started.
func Manager(c *ensuretest.Client) ctrl.Manager { return manager{c: c} }

type manager struct {
	ctrl.Manager // nil

	c *ensuretest.Client
}

func (m manager) GetClient() client.Client { return m.c }

func (m manager) GetAPIReader() client.Reader { return m.c.APIReader() }

func (m manager) GetFieldIndexer() client.FieldIndexer { return indexer(m) }

func (manager) GetEventRecorder(string) recorder.EventRecorder { return &events.FakeRecorder{} }

// An indexer adds indexes to the fake client, as a manager's indexer adds them to the cache.
type indexer manager

func (i indexer) IndexField(_ context.Context, kind client.Object, field string, valuesOf client.IndexerFunc) error {
	return fake.AddIndex(i.c, kind, field, valuesOf)
}
