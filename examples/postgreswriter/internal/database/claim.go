package database

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Claim inserts the row with the key, calls claim, and commits. If claim returns an error, Claim inserts
// nothing and returns that error. Every other error is an *Error.
//
// If a listed table has a row with the key, the error has the reason RowExists, and claim is not called.
// From then on until the commit, another transaction that inserts the key into the same table waits. So
// nobody can insert the row between the check and the end of claim. The argument of claim are the other tables that
// cannot be read, and may have a row with the key.
//
// If the commit fails, claim was called for a row that may not exist.
func (r *Rows) Claim(ctx context.Context, key string, row Row, claim func(ctx context.Context, unchecked []string) error) error {
	if err := r.checkAllowed(row.Table); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()

	r.Forget(key)
	found, err := r.find(ctx, key)
	if err == nil {
		err = found.restrictTo(Claim{Key: key, Tables: []string{row.Table}}, row.Table)
	}
	if err == nil {
		err = found.checkFree(key)
	}
	if err != nil {
		return r.failure(err)
	}
	var claimErr error
	err = r.write(ctx, row.Table, func(tx pgx.Tx) error {
		if err := r.insert(ctx, tx, key, row, found.unread); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, claimTimeout)
		defer cancel()
		claimErr = claim(ctx, slices.Sorted(maps.Keys(found.unread)))
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
func (r *Rows) insert(ctx context.Context, tx pgx.Tx, key string, row Row, unread map[string]error) error {
	found, err := r.findIn(ctx, tx, key, unread)
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
		return r.explainSkipped(ctx, tx, key, row.Table, unread)
	}
	return checkConstraints(ctx, tx, row.Table)
}

// explainSkipped returns the reason why store skipped the row: another transaction has inserted the key
// since the check, or a trigger dropped the row.
func (r *Rows) explainSkipped(ctx context.Context, tx pgx.Tx, key, table string, unread map[string]error) error {
	found, err := r.findIn(ctx, tx, key, unread)
	if err != nil {
		return err
	}
	if err := found.checkFree(key); err != nil {
		return err
	}
	return notStored(table)
}
