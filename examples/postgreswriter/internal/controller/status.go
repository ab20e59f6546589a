package controller

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/status/readiness"
)

// reasonWritten is a reason of the Ready condition. Other reasons are Terminating, those of package database
// and the results of ensure.Reason.
const reasonWritten = "Written"

// reportWritten reports that the row matches the spec, the table and key of the row, and the tables without a claim.
func (r *Reconciler) reportWritten(ctx context.Context, writer *v1.PostgresWriter, unchecked []string) error {
	written := readiness.Readiness{State: readiness.Ready, Reason: reasonWritten, Message: "the row matches the spec"}
	return r.report(ctx, writer, written, func(writer *v1.PostgresWriter) {
		is := &writer.Status
		is.ID, is.Table, is.Claimed.Unchecked = r.keyOf(writer), writer.Spec.Table, unchecked
	})
}

// reportNotReady reports why the row does not match the spec. The table and key of a claimed row stay in the status. An
// object without a claim has none: a key would count as the claim of an earlier release.
func (r *Reconciler) reportNotReady(ctx context.Context, writer *v1.PostgresWriter, row readiness.Readiness) error {
	return r.report(ctx, writer, row, func(writer *v1.PostgresWriter) {
		if !r.isClaimed(writer) {
			writer.Status.ID, writer.Status.Table = "", ""
		}
	})
}

// report writes the readiness of the row into the condition. A new failure is also an event.
func (r *Reconciler) report(
	ctx context.Context, writer *v1.PostgresWriter, row readiness.Readiness, change func(*v1.PostgresWriter),
) error {
	set := status.For(writer)
	err := status.Patch(ctx, r.client, writer, func(writer *v1.PostgresWriter) {
		writer.Status.ObservedGeneration = writer.Generation
		change(writer) // before the condition, whose former reason says whether there is a claim of an earlier release
		set.Child(&writer.Status.Conditions, v1.ReadyCondition, row)
	}, status.FieldOwner(Name))
	if err == nil {
		r.warnings.Record(writer, v1.ReadyCondition, row)
	}
	return err
}

// fail reports err in the condition and in an event, and returns when to retry: after retryRefused if a
// person has to resolve the error, else as the rate limiter decides.
func (r *Reconciler) fail(ctx context.Context, writer *v1.PostgresWriter, err error) (reconcile.Result, error) {
	switch {
	case errors.Is(err, errGone):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return ensure.Retry(ctx, err) // the cached copy is stale
	}
	reason, message, isTemporary := ensure.Reason(err), err.Error(), true
	if databaseErr, ok := errors.AsType[*database.Error](err); ok {
		reason, message, isTemporary = databaseErr.Reason, databaseErr.Message, databaseErr.IsTemporary()
	}
	if reason == database.NotActive {
		return ensure.Retry(ctx, err) // the operator with the lock reports the state
	}
	reportErr := r.reportNotReady(ctx, writer, readiness.Readiness{State: readiness.Failed, Reason: reason, Message: message})
	switch {
	case isTemporary:
		return ensure.Retry(ctx, errors.Join(err, reportErr))
	case reportErr != nil:
		return ensure.Retry(ctx, reportErr)
	}
	log.FromContext(ctx).Info("cannot reconcile", "reason", reason, "message", message)
	return reconcile.Result{RequeueAfter: retryRefused}, nil
}
