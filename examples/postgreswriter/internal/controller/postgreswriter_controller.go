// Package controller makes PostgresWriters so.
package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
	"github.com/trueup-go/trueup/finalizer"
)

// Name is the name of the operator: its user agent, and its name for the database.
const Name = "postgreswriter-operator"

const (
	// Workers is how many PostgresWriters are reconciled at once.
	Workers = 4
	// retryRefused is the interval of retries if somebody has to resolve the error.
	retryRefused = 5 * time.Minute
)

// Options are how the operator was started.
type Options struct {
	// ClusterName is part of the rows' keys, unless empty.
	ClusterName string
	// CheckInterval is the interval of the checks of an unchanged row: the database does not report
	// edits by hand.
	CheckInterval time.Duration
	// Sweep removes rows whose PostgresWriters are gone, WatchNamespace's if that is given.
	Sweep          bool
	WatchNamespace string
}

// Reconciler writes the rows of PostgresWriters.
type Reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	rows     *database.Rows
	keys     keys
	options  Options
}

// New returns the reconciler of mgr.
func New(mgr ctrl.Manager, rows *database.Rows, options Options) *Reconciler {
	return &Reconciler{
		client:   mgr.GetClient(),
		recorder: mgr.GetEventRecorder(Name),
		rows:     rows,
		keys:     keys{cluster: options.ClusterName},
		options:  options,
	}
}

// These permissions are all that Reconcile needs. The finalizer is written by a patch. So is the count of
// equal events, about a row that is repaired again and again.
//
// +kubebuilder:rbac:groups=demo.yash.com,resources=postgreswriters,verbs=list;watch;patch
// +kubebuilder:rbac:groups=demo.yash.com,resources=postgreswriters/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile ensures the row of writer and reports its state. When writer is being deleted,
// Reconcile removes the row instead.
func (r *Reconciler) Reconcile(ctx context.Context, writer *v1.PostgresWriter) (reconcile.Result, error) {
	going, err := finalizer.Handle(ctx, r.client, writer, finalizer.Step{
		Name: v1.Finalizer,
		Cleanup: func(ctx context.Context) error {
			removed, err := r.remove(ctx, keyOf(writer))
			if removed {
				r.tell(writer, "Deleted", "deleted the row")
			}
			return err
		},
	})
	if err != nil || going.Done {
		return r.takeLeave(ctx, writer, err)
	}

	change, err := r.rows.Put(ctx, r.keys.of(keyOf(writer)), database.Row{
		Table: writer.Spec.Table, Name: writer.Spec.Name, Age: writer.Spec.Age, Country: writer.Spec.Country,
	})
	if err != nil {
		return r.fail(ctx, writer, err)
	}
	if change != database.Unchanged {
		log.FromContext(ctx).Info("wrote row", "change", change, "table", writer.Spec.Table)
		r.tell(writer, string(change), "wrote the row into table "+writer.Spec.Table)
	}

	if err := r.written(ctx, writer); err != nil {
		return ensure.Retry(ctx, err)
	}
	return reconcile.Result{RequeueAfter: r.options.CheckInterval}, nil
}

// tell records an event about a write, which contains no content of the row.
func (r *Reconciler) tell(writer *v1.PostgresWriter, change, note string) {
	r.recorder.Eventf(writer, nil, corev1.EventTypeNormal, "Row"+change, change, "%s", note)
}

// remove deletes the row of a PostgresWriter that is being deleted, or gone.
func (r *Reconciler) remove(ctx context.Context, writer types.NamespacedName) (removed bool, err error) {
	removed, err = r.rows.Delete(ctx, r.keys.of(writer))
	if removed {
		log.FromContext(ctx).Info("deleted row")
	}
	return removed, err
}

// takeLeave reports why writer cannot go yet, as long as writer exists. It also reports why writer
// cannot get the finalizer.
func (r *Reconciler) takeLeave(ctx context.Context, writer *v1.PostgresWriter, err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err), err == nil && len(writer.Finalizers) == 0:
		return ensure.Retry(ctx, err) // a newer copy is about to arrive, or writer is gone
	case err != nil:
		return r.fail(ctx, writer, err)
	}
	err = r.notReady(ctx, writer, reasonTerminating, "the row is deleted; somebody else's finalizer is left")
	return ensure.Retry(ctx, err)
}

func keyOf(writer *v1.PostgresWriter) types.NamespacedName {
	return types.NamespacedName{Namespace: writer.Namespace, Name: writer.Name}
}
