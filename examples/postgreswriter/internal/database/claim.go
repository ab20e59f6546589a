package database

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Claim writes the row with the key, calls claim, and commits. If claim returns an error, Claim writes
// nothing and returns that error. Every other error is an *Error.
//
// With Refuse, Claim inserts the row: if a listed table has a row with the key, the error has the reason RowExists, and
// claim is not called. From then on until the commit, another transaction that inserts the key into the same table waits.
// So nobody can insert the row between the check and the end of claim. With Overwrite, Claim writes like Put. The
// argument of claim are the other tables that cannot be read, and may have a row with the key.
//
// If the commit fails, claim was called for a row that may not exist.
func (r *Rows) Claim(
	ctx context.Context, key string, row Row, conflict Conflict, claim func(ctx context.Context, unchecked []string) error,
) (Change, error) {
	if err := r.checkAllowed(row.Table); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()

	r.Forget(key)
	wanted := Claim{Key: key, Tables: []string{row.Table}}
	found, err := r.find(ctx, key)
	if err == nil {
		err = found.restrictTo(wanted, row.Table)
	}
	if err == nil && conflict == Refuse {
		err = found.checkFree(key)
	}
	if err != nil {
		return "", r.failure(err)
	}
	var change Change
	var claimErr error
	err = r.write(ctx, found.tablesToWrite(row), func(tx pgx.Tx) (err error) {
		if change, err = r.putIn(ctx, tx, wanted, row, found.unread, conflict); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, claimTimeout)
		defer cancel()
		claimErr = claim(ctx, slices.Sorted(maps.Keys(found.unread)))
		return claimErr
	})
	switch {
	case claimErr != nil:
		return "", claimErr
	case err != nil:
		return "", r.failure(err)
	}
	r.metrics.wrote(key, row.Table, change)
	return change, nil
}
