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

// The reasons of the Ready condition, beside those of package database.
const (
	reasonWritten     = "Written"
	reasonTerminating = "Terminating"
)

// written reports where the row of writer is.
func (r *Reconciler) written(ctx context.Context, writer *v1.PostgresWriter) error {
	set := status.For(writer)
	return r.report(ctx, writer, func(writer *v1.PostgresWriter) {
		writer.Status.ID = r.keys.of(keyOf(writer))
		writer.Status.Table = writer.Spec.Table
		set.True(&writer.Status.Conditions, v1.ReadyCondition, reasonWritten, "the row is as the spec says")
	})
}

// notReady reports why the row does not match the spec. The last reported place of the row stays.
func (r *Reconciler) notReady(ctx context.Context, writer *v1.PostgresWriter, reason, message string) error {
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

// fail reports why the row of writer does not match, and returns when to retry: after minutes if
// somebody has to resolve the error in the database, else as the rate limiter decides.
func (r *Reconciler) fail(ctx context.Context, writer *v1.PostgresWriter, err error) (reconcile.Result, error) {
	var trouble *database.Error
	if !errors.As(err, &trouble) {
		return ensure.Retry(ctx, errors.Join(err, r.notReady(ctx, writer, ensure.Reason(err), err.Error())))
	}
	if trouble.Reason == database.NotActive {
		return ensure.Retry(ctx, err) // how the row stands is for another to say
	}
	reportErr := r.notReady(ctx, writer, trouble.Reason, trouble.Message)
	switch {
	case trouble.IsTemporary():
		return ensure.Retry(ctx, errors.Join(err, reportErr))
	case reportErr != nil:
		return ensure.Retry(ctx, reportErr)
	}
	log.FromContext(ctx).Info("cannot reconcile", "reason", trouble.Reason, "message", trouble.Message)
	return reconcile.Result{RequeueAfter: retryRefused}, nil
}
