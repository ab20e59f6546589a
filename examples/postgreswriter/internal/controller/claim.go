package controller

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
	"github.com/trueup-go/trueup/status"
)

// errGone is the error for a PostgresWriter that disappeared during the reconcile.
var errGone = errors.New("the PostgresWriter is gone")

// isClaimed reports whether the rows with the key of writer belong to writer. The claim is in the status, where
// only the operator writes. A finalizer is no claim, since every editor can add one.
func (r *Reconciler) isClaimed(writer *v1.PostgresWriter) bool {
	if writer.Status.Claimed == nil {
		return r.hasEarlierRow(writer)
	}
	return writer.Status.Claimed.Key == r.keyOf(writer) && writer.Status.Claimed.UID == writer.UID
}

// hasEarlierRow reports whether a release that wrote no claims wrote the row of writer. Such a release wrote
// status.id together with the reason Written, and the reason RowExists if writer lost its finalizer later.
func (r *Reconciler) hasEarlierRow(writer *v1.PostgresWriter) bool {
	ready := meta.FindStatusCondition(writer.Status.Conditions, v1.ReadyCondition)
	return writer.Status.ID == r.keyOf(writer) && ready != nil && ready.Reason != database.RowExists
}

// claimOf returns the claim of writer for the database. The row is in the table of the spec, or in the one that the operator
// reported last. If the operator has reported none, the row may be in any table.
func (r *Reconciler) claimOf(writer *v1.PostgresWriter) database.Claim {
	claim := database.Claim{Key: r.keyOf(writer)}
	if writer.Status.Table != "" {
		claim.Tables = []string{writer.Status.Table, writer.Spec.Table}
	}
	if writer.Status.Claimed != nil {
		claim.Unchecked = writer.Status.Claimed.Unchecked
	}
	return claim
}

// mayAdopt reports whether writer may overwrite a row that exists.
func (r *Reconciler) mayAdopt(writer *v1.PostgresWriter) bool {
	return slices.Contains(r.options.AdoptRows, writer.Namespace) || slices.Contains(r.options.AdoptRows, r.keyOf(writer))
}

// claimRow writes the row of a PostgresWriter without a claim, and claims the row before the commit. So there is no
// claim if somebody else's row exists, unless writer may adopt it, and no row without a claim. If the commit fails, the next
// reconcile writes the row.
func (r *Reconciler) claimRow(ctx context.Context, writer *v1.PostgresWriter) (reconcile.Result, error) {
	generation := writer.Generation
	conflict := database.Refuse
	if r.mayAdopt(writer) {
		conflict = database.Overwrite
	}
	change, err := r.rows.Claim(ctx, r.keyOf(writer), rowOf(writer), conflict, func(ctx context.Context, unchecked []string) error {
		return r.claim(ctx, writer, unchecked)
	})
	switch {
	case err != nil:
		return r.fail(ctx, writer, err)
	case writer.Generation != generation: // the row is that of the former spec, and an event about the new one follows
		return reconcile.Result{}, nil
	}
	return r.succeed(ctx, writer, database.Result{Change: change, Unchecked: writer.Status.Claimed.Unchecked})
}

// claim adds the finalizer, and then writes the claim into the status. If both are there, claim sends no
// request. unchecked are tables that cannot be read.
func (r *Reconciler) claim(ctx context.Context, writer *v1.PostgresWriter, unchecked []string) error {
	deletion, err := r.handleFinalizer(ctx, writer)
	switch {
	case err != nil:
		return err
	case deletion.Done:
		return errGone
	}
	if writer.Status.Claimed != nil && r.isClaimed(writer) {
		return nil
	}
	version := writer.ResourceVersion
	err = status.Patch(ctx, r.client, writer, func(writer *v1.PostgresWriter) {
		writer.Status.Claimed = &v1.RowClaim{Key: r.keyOf(writer), UID: writer.UID, Unchecked: unchecked}
	}, status.FieldOwner(Name))
	switch {
	case err != nil:
		return err
	case writer.Status.Claimed == nil:
		return errors.New("the API server does not store status.claimed: install the CustomResourceDefinition of this release")
	case writer.ResourceVersion == version:
		return errGone // status.Patch returns nil if the object is gone
	}
	return nil
}
