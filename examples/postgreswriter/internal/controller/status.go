package controller

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
	"github.com/trueup-go/trueup/status"
)

// Reasons of the Ready condition. Other reasons are those of package database.
const (
	reasonWritten     = "Written"
	reasonTerminating = "Terminating"
)

// reportWritten reports that the row matches the spec, and the table and key of the row.
func (r *Reconciler) reportWritten(ctx context.Context, writer *v1.PostgresWriter) error {
	set := status.For(writer)
	return r.report(ctx, writer, func(writer *v1.PostgresWriter) {
		writer.Status.ID = r.keys.of(keyOf(writer))
		writer.Status.Table = writer.Spec.Table
		set.True(&writer.Status.Conditions, v1.ReadyCondition, reasonWritten, "the row matches the spec")
	})
}

// reportNotReady reports why the row does not match the spec. The table and key of the row stay in the
// status.
func (r *Reconciler) reportNotReady(ctx context.Context, writer *v1.PostgresWriter, reason, message string) error {
	set := status.For(writer)
	return r.report(ctx, writer, func(writer *v1.PostgresWriter) {
		set.False(&writer.Status.Conditions, v1.ReadyCondition, reason, message)
	})
}

func (r *Reconciler) report(ctx context.Context, writer *v1.PostgresWriter, change func(*v1.PostgresWriter)) error {
	return status.Patch(ctx, r.client, writer, func(writer *v1.PostgresWriter) {
		writer.Status.ObservedGeneration = writer.Generation
		change(writer)
	}, status.FieldOwner(Name))
}

// fail reports err in the condition, and returns when to retry: after retryRefused if a person has to
// resolve the error, else as the rate limiter decides.
func (r *Reconciler) fail(ctx context.Context, writer *v1.PostgresWriter, err error) (reconcile.Result, error) {
	var databaseErr *database.Error
	if !errors.As(err, &databaseErr) {
		return ensure.Retry(ctx, errors.Join(err, r.reportNotReady(ctx, writer, ensure.Reason(err), err.Error())))
	}
	if databaseErr.Reason == database.NotActive {
		return ensure.Retry(ctx, err) // the operator with the lock reports the state
	}
	reportErr := r.reportNotReady(ctx, writer, databaseErr.Reason, databaseErr.Message)
	switch {
	case databaseErr.IsTemporary():
		return ensure.Retry(ctx, errors.Join(err, reportErr))
	case reportErr != nil:
		return ensure.Retry(ctx, reportErr)
	}
	log.FromContext(ctx).Info("cannot reconcile", "reason", databaseErr.Reason, "message", databaseErr.Message)
	return reconcile.Result{RequeueAfter: retryRefused}, nil
}
