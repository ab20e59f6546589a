// Package controller reconciles PostgresWriters.
package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// Name is the name of the operator, the field owner, the user agent and the application name in the database.
const Name = "postgreswriter-operator"

// retryRefused is the delay of the retry after an error that a person has to resolve.
const retryRefused = time.Minute

// Options configure a Reconciler.
type Options struct {
	// ClusterName is part of the keys of rows, unless empty.
	ClusterName string
	// CheckInterval is how often all rows are compared with their PostgresWriters. The database reports no drift.
	CheckInterval time.Duration
	// Workers is the number of concurrent reconciles.
	Workers int
	// AdoptRows are the namespaces and keys of PostgresWriters that may overwrite a row that exists.
	AdoptRows []string
	// Sweep enables the removal of rows whose PostgresWriter no longer exists.
	Sweep bool
	// WatchNamespace is the only namespace that is swept; empty means all.
	WatchNamespace string
}

// Reconciler writes the rows of PostgresWriters.
type Reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	warnings *status.Warnings
	rows     *database.Rows
	keys     keys
	options  Options
}

// New returns a reconciler of rows.
func New(mgr ctrl.Manager, rows *database.Rows, options Options) *Reconciler {
	recorder := mgr.GetEventRecorder(Name)
	return &Reconciler{
		client:   mgr.GetClient(),
		recorder: recorder,
		warnings: status.NewWarnings(recorder),
		rows:     rows,
		keys:     keys{cluster: options.ClusterName},
		options:  options,
	}
}

// Reconcile needs these permissions. The operator adds and removes its finalizer by a patch. The recorder
// patches an event to count its repetitions.
//
// +kubebuilder:rbac:groups=demo.yash.com,resources=postgreswriters,verbs=list;watch;patch
// +kubebuilder:rbac:groups=demo.yash.com,resources=postgreswriters/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile ensures the row of writer and reports its state in a condition. If writer is being deleted,
// Reconcile deletes the row instead.
func (r *Reconciler) Reconcile(ctx context.Context, writer *v1.PostgresWriter) (reconcile.Result, error) {
	switch {
	case !writer.DeletionTimestamp.IsZero():
		_, err := r.handleFinalizer(ctx, writer)
		return r.finish(ctx, writer, err)
	case !r.isClaimed(writer):
		return r.claimRow(ctx, writer)
	}
	if err := r.claim(ctx, writer, nil); err != nil {
		return r.fail(ctx, writer, err)
	}
	result, err := r.rows.Put(ctx, r.claimOf(writer), rowOf(writer))
	if err != nil {
		return r.fail(ctx, writer, err)
	}
	return r.succeed(ctx, writer, result)
}

// handleFinalizer adds the finalizer, or deletes the row and removes the finalizer if writer is being deleted. A
// row without a claim stays.
func (r *Reconciler) handleFinalizer(ctx context.Context, writer *v1.PostgresWriter) (finalizer.Result, error) {
	return finalizer.Handle(ctx, r.client, writer, finalizer.Step{
		Name: v1.Finalizer,
		Cleanup: func(ctx context.Context) error {
			if !r.isClaimed(writer) {
				return nil
			}
			removed, err := r.remove(ctx, r.claimOf(writer))
			if removed {
				r.recordEvent(writer, "Deleted", "deleted the row")
			}
			return err
		},
	})
}

// succeed reports that the row matches the spec.
func (r *Reconciler) succeed(ctx context.Context, writer *v1.PostgresWriter, result database.Result) (reconcile.Result, error) {
	if change := result.Change; change != database.Unchanged {
		log.FromContext(ctx).Info("wrote row", "change", change, "table", writer.Spec.Table)
		r.recordEvent(writer, string(change), "wrote the row into table "+writer.Spec.Table)
	}
	return ensure.Retry(ctx, r.reportWritten(ctx, writer, result.Unchecked))
}

// recordEvent records an event about a write. The event does not contain values of the row.
func (r *Reconciler) recordEvent(writer *v1.PostgresWriter, change, note string) {
	r.recorder.Eventf(writer, nil, corev1.EventTypeNormal, "Row"+change, change, "%s", note)
}

// remove deletes the row of a PostgresWriter that is being deleted or gone.
func (r *Reconciler) remove(ctx context.Context, claim database.Claim) (removed bool, err error) {
	removed, err = r.rows.Delete(ctx, claim)
	if removed {
		log.FromContext(ctx).Info("deleted row")
	}
	return removed, err
}

// finish reports why writer is not deleted yet.
func (r *Reconciler) finish(ctx context.Context, writer *v1.PostgresWriter, err error) (reconcile.Result, error) {
	switch {
	case err != nil:
		return r.fail(ctx, writer, err)
	case len(writer.Finalizers) == 0:
		return reconcile.Result{}, nil // writer is gone
	}
	err = r.reportNotReady(ctx, writer, readiness.Readiness{
		State: readiness.Terminating, Message: "the PostgresWriter has no row any more; somebody else's finalizer is left",
	})
	return ensure.Retry(ctx, err)
}

// keyOf returns the key of the row of writer.
func (r *Reconciler) keyOf(writer *v1.PostgresWriter) string {
	return r.keys.of(client.ObjectKeyFromObject(writer))
}

func rowOf(writer *v1.PostgresWriter) database.Row {
	return database.Row{Table: writer.Spec.Table, Name: writer.Spec.Name, Age: writer.Spec.Age, Country: writer.Spec.Country}
}
