package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
)

// sweepInterval is the interval of the comparison of rows with PostgresWriters, which finds rare leftovers.
// sweepRetry is the delay after a failed comparison.
const (
	sweepInterval = 10 * time.Minute
	sweepRetry    = time.Minute
)

// leftovers removes the rows of PostgresWriters that no longer exist. Usually, a finalizer does so.
// But a PostgresWriter may go without: the API server loses a finalizer that is added during a
// deletion, and people remove finalizers by hand. So a missing PostgresWriter has no row, and
// requests for missing ones end here.
type leftovers struct {
	*Reconciler
	next reconcile.Reconciler // for those that are there
}

// Reconcile trusts the cache. If the cache lagged, a row would be gone for a moment: the
// PostgresWriter is reconciled as soon as the cache shows it.
func (l leftovers) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	switch err := l.client.Get(ctx, request.NamespacedName, &v1.PostgresWriter{}); {
	case apierrors.IsNotFound(err):
		_, err := l.remove(ctx, request.NamespacedName) // there is nothing left to tell of in an event
		return reconcile.Result{}, err
	case err != nil:
		return reconcile.Result{}, err
	}
	return l.next.Reconcile(ctx, request)
}

// sweeper asks for those that were gone before the operator was started, and of which no
// event tells.
type sweeper struct {
	*Reconciler
	gone chan<- event.TypedGenericEvent[types.NamespacedName]
}

// Start runs while the manager leads.
func (s sweeper) Start(ctx context.Context) error {
	for {
		next := sweepInterval
		if err := s.sweep(ctx); err != nil {
			log.FromContext(ctx).Error(err, "cannot look for rows of PostgresWriters that are gone")
			next = sweepRetry
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return nil
		}
	}
}

// sweep collects the keys first, as a list of rows that is read slowly holds a connection.
func (s sweeper) sweep(ctx context.Context) error {
	var writers []types.NamespacedName
	err := s.rows.Keys(ctx, func(key string) {
		writer, ours := s.keys.parse(key)
		if ours && (s.options.WatchNamespace == "" || s.options.WatchNamespace == writer.Namespace) {
			writers = append(writers, writer)
		}
	})
	if err != nil {
		return err
	}
	for _, writer := range writers {
		switch err := s.client.Get(ctx, writer, &v1.PostgresWriter{}); {
		case err == nil:
			continue
		case !apierrors.IsNotFound(err):
			return err
		}
		select {
		case s.gone <- event.TypedGenericEvent[types.NamespacedName]{Object: writer}:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
