package database

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Claim inserts the row with the key, calls claim, and commits. If claim returns an error, Claim inserts
// nothing and returns that error. Every other error is an *Error.
//
// If a listed table has a row with the key, the error has the reason RowExists, and claim is not called.
// From then on until the commit, another transaction that inserts the key into the same table waits. So
// nobody can insert the row between the check and the end of claim.
//
// If the commit fails, claim was called for a row that may not exist.
func (r *Rows) Claim(ctx context.Context, key string, row Row, claim func(context.Context) error) error {
	if err := r.checkAllowed(row.Table); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()

	r.Forget(key)
	var claimErr error
	err := r.write(ctx, func(tx pgx.Tx) error {
		if err := r.insert(ctx, tx, key, row); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, claimTimeout)
		defer cancel()
		claimErr = claim(ctx)
		return claimErr
	})
	switch {
	case claimErr != nil:
		return claimErr
	case err != nil:
		return r.failure(err)
	}
	r.metrics.wrote(key, row.Table, Inserted)
	return nil
}

// insert inserts the row, and checks it as a commit would.
func (r *Rows) insert(ctx context.Context, tx pgx.Tx, key string, row Row) error {
	found, err := r.find(ctx, tx, key)
	if err != nil {
		return err
	}
	if err := found.checkFree(key); err != nil {
		return err
	}
	if err := r.ensureTable(ctx, tx, found, row.Table); err != nil {
		return err
	}
	stored, err := store(ctx, tx, key, row, skip)
	switch {
	case err != nil:
		return err
	case !stored:
		return r.explainSkipped(ctx, tx, key, row.Table)
	}
	return r.checkConstraints(ctx, tx)
}

// explainSkipped returns the reason why store skipped the row: another transaction has inserted the key
// since the check, or a trigger dropped the row.
func (r *Rows) explainSkipped(ctx context.Context, tx pgx.Tx, key, table string) error {
	found, err := r.find(ctx, tx, key)
	if err != nil {
		return err
	}
	if err := found.checkFree(key); err != nil {
		return err
	}
	return notStored(table)
}
