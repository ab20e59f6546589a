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
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
)

const (
	// sweepInterval is how often rows without a PostgresWriter are searched.
	sweepInterval = 10 * time.Minute
	// sweepRetry is the delay after a failed search.
	sweepRetry = time.Minute
)

// A rowCleaner handles PostgresWriters that no longer exist. Usually, the finalizer has deleted their rows.
// But the API server may lose a finalizer that is added during a deletion, and people may remove one.
type rowCleaner struct {
	*Reconciler
	next reconcile.Reconciler // reconciles PostgresWriters that exist
}

// Reconcile handles a PostgresWriter that the cache does not show. With Sweep, Reconcile deletes the row. If
// the cache is stale, the row is written again as soon as the cache shows the PostgresWriter. Without Sweep,
// the row stays, since another program may have written the row.
func (l rowCleaner) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	switch err := l.client.Get(ctx, request.NamespacedName, &v1.PostgresWriter{}); {
	case apierrors.IsNotFound(err) && !l.options.Sweep:
		l.rows.Forget(l.keys.of(request.NamespacedName))
		return reconcile.Result{}, nil
	case apierrors.IsNotFound(err):
		// The next sweep finds a row in a table that cannot be read. There is no event, since the object is gone.
		_, err := l.remove(ctx, database.Claim{Key: l.keys.of(request.NamespacedName), Tables: []string{}})
		return reconcile.Result{}, err
	case err != nil:
		return reconcile.Result{}, err
	}
	return l.next.Reconcile(ctx, request)
}

// A sweeper finds rows whose PostgresWriter was deleted while the operator did not run. No event reports
// such a deletion.
type sweeper struct {
	*Reconciler
	gone chan<- event.TypedGenericEvent[types.NamespacedName]
}

// Start implements manager.Runnable. The manager calls it after the leader election.
func (s sweeper) Start(ctx context.Context) error {
	for {
		next := sweepInterval
		if err := s.sweep(ctx); err != nil {
			log.FromContext(ctx).Error(err, "cannot search for rows of deleted PostgresWriters")
			next = sweepRetry
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return nil
		}
	}
}

// sweep enqueues the PostgresWriters of rows that no longer exist. First, sweep reads all keys, since a
// slow list of rows would occupy a connection. A table that cannot be read keeps no row in the others.
func (s sweeper) sweep(ctx context.Context) error {
	var writers []types.NamespacedName
	keysErr := s.rows.Keys(ctx, func(key string) {
		writer, ours := s.keys.parse(key)
		if ours && (s.options.WatchNamespace == "" || s.options.WatchNamespace == writer.Namespace) {
			writers = append(writers, writer)
		}
	})
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
	return keysErr
}
