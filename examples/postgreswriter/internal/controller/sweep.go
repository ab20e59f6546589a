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

// sweepInterval is how often rows are compared with PostgresWriters, to find what hardly
// ever happens; sweepRetry how soon it is tried again when that failed.
const (
	sweepInterval = 10 * time.Minute
	sweepRetry    = time.Minute
)

// leftovers has what is left of PostgresWriters that are gone removed. A finalizer sees to
// that as a rule, but a PostgresWriter may go without: the API server loses a finalizer that
// is added while a deletion crosses it, and people remove them by hand. So a
// PostgresWriter that is not there has no row, and this is where one ends up that is asked
// for after it has gone.
type leftovers struct {
	*Reconciler
	next reconcile.Reconciler // for those that are there
}

// Reconcile trusts the cache. Were it behind, a row would be gone for a moment: the
// PostgresWriter that it shows next is reconciled after this.
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

// Start is called by the manager, when it leads.
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
