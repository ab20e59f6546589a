package database

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// maxKeys is the number of keys in a statement.
const maxKeys = 1000

// A Desired is the row that a PostgresWriter should have.
type Desired struct {
	Claim Claim
	Row   Row
	// IsClaimed reports whether the rows with the key belong to the PostgresWriter.
	IsClaimed bool
}

// A State is the state of the row of a Desired.
type State struct {
	// Result is the result that Put would have.
	Result
	// IsFree reports that no table that can be read has a row with the key.
	IsFree bool
	// Err is the error of a table that cannot be read, if the row may be in this table.
	Err error
}

// Compare calls visit with the state of each row, in the order of desired. It reads the rows of a table with one statement
// for 1,000 keys. The result describes each listed table: it changes if the table appears or disappears, or if
// its columns, the rights of the user or the error of a statement that reads the table change. Every error is an
// *Error.
func (r *Rows) Compare(ctx context.Context, desired []Desired, visit func(i int, state State)) (map[string]string, error) {
	r.locks.forget()
	existing, err := r.describeTables(ctx, r.read)
	if err != nil {
		return nil, r.failure(err)
	}
	failed := map[string]error{}
	for first := 0; first == 0 || first < len(desired); first += maxKeys {
		some := desired[first:min(first+maxKeys, len(desired))]
		found, unread, err := r.readSome(ctx, existing, some)
		if err != nil {
			return nil, r.failure(err)
		}
		maps.Copy(failed, unread)
		for i, d := range some {
			visit(first+i, r.stateOf(d, newFindings(existing, unread, found[d.Claim.Key])))
		}
	}
	described := map[string]string{}
	for _, name := range r.options.Tables {
		t, exists := existing.tables[name]
		described[name] = fmt.Sprint(exists, t.columns, t.rights, failed[name])
	}
	return described, nil
}

// readSome reads the rows of at most maxKeys PostgresWriters. It returns the rows by key, and the tables that cannot be
// read.
func (r *Rows) readSome(ctx context.Context, existing catalog, some []Desired) (map[string][]located, map[string]error, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()

	keys := make([]string, 0, len(some))
	for _, d := range some {
		keys = append(keys, d.Claim.Key)
	}
	rows, unread, err := r.readTables(ctx, existing, keys)
	found := make(map[string][]located, len(some))
	for _, row := range rows {
		found[row.key] = append(found[row.key], row)
	}
	return found, unread, err
}

func (r *Rows) stateOf(d Desired, found findings) State {
	state := State{IsFree: len(found.rows) == 0}
	if state.Err = found.restrictTo(d.Claim, d.Row.Table); state.Err != nil {
		return state
	}
	if d.IsClaimed {
		r.metrics.saw(d.Claim.Key, found.tableOf(d.Row.Table))
	}
	state.Result = Result{Change: found.changeTo(d.Row), Unchecked: found.unchecked(d.Claim)}
	return state
}

// IsListed reports whether rows may be written to the table.
func (r *Rows) IsListed(table string) bool { return slices.Contains(r.options.Tables, table) }

// Unavailable returns a channel that receives after an operation has failed because the database is unavailable.
func (r *Rows) Unavailable() <-chan struct{} { return r.unavailable }
