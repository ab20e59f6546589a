package database

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// values has the columns of a row as text. A field is nil if the column is null or does not exist.
type values struct{ Name, Age, Country *string }

// differsIn returns the name of the first column that differs from row, or "".
func (v values) differsIn(row Row) string {
	matches := func(stored *string, desired string) bool { return stored != nil && *stored == desired }
	switch {
	case !matches(v.Name, row.Name):
		return "name"
	case !matches(v.Age, strconv.Itoa(int(row.Age))):
		return "age"
	case !matches(v.Country, row.Country):
		return "country"
	}
	return ""
}

// A Claim is the claim of a PostgresWriter to the rows with a key.
type Claim struct {
	Key string
	// Tables are the tables in which the row may be: the one of the spec, and the one where the row was last seen. Nil
	// means any table, and an empty list means any table that can be read.
	Tables []string
	// Unchecked are the tables that could not be read when the key was claimed. The rows in these tables belong to
	// somebody else.
	Unchecked []string
}

// findings has the result of the search for a key.
type findings struct {
	tables     map[string]table  // tables that can be read, as far as their columns tell, by name
	unread     map[string]error  // tables that cannot be read, by name
	rows       map[string]values // rows with the key, by the name of the table
	duplicated map[string]bool   // tables with several rows with the key
	foreign    map[string]bool   // tables with a row of somebody else, after restrictTo
}

// restrictTo leaves only rows that belong to the claim, of which one has to be in the table, unless the name is empty.
// It returns an error if the row may be in a table that cannot be read, or if the table has a row of somebody else.
func (f findings) restrictTo(claim Claim, table string) error {
	for _, name := range slices.Sorted(maps.Keys(f.unread)) {
		isUnchecked := slices.Contains(claim.Unchecked, name)
		if name == table || slices.Contains(claim.Tables, name) || claim.Tables == nil && !isUnchecked {
			return f.unread[name]
		}
	}
	for _, name := range claim.Unchecked {
		if _, exists := f.rows[name]; exists {
			f.foreign[name] = true
			delete(f.rows, name)
		}
	}
	if f.foreign[table] {
		return rowExists(claim.Key, []string{table})
	}
	return nil
}

// unchecked returns the tables of the claim, except for those that were read, and have no row with the key.
func (f findings) unchecked(claim Claim) []string {
	return slices.DeleteFunc(slices.Clone(claim.Unchecked), func(name string) bool {
		_, exists := f.tables[name]
		return exists && f.unread[name] == nil && !f.foreign[name]
	})
}

// changeTo returns the change after which row is the only row with the key.
func (f findings) changeTo(row Row) Change {
	if f.duplicated[row.Table] {
		return Updated // the database will refuse the update: id is not unique
	}
	stored, exists := f.rows[row.Table]
	switch {
	case len(f.otherTables(row.Table)) > 0:
		return Moved
	case !exists:
		return Inserted
	case stored.differsIn(row) != "":
		return Updated
	}
	return Unchanged
}

// checkFree returns an error if a table has a row with the key.
func (f findings) checkFree(key string) error {
	if taken := f.otherTables(""); len(taken) > 0 {
		return rowExists(key, taken)
	}
	return nil
}

func rowExists(key string, taken []string) *Error {
	return refuse(RowExists,
		"table %q already has a row with the key %q; delete the row, or let the operator overwrite it with --adopt-rows=%s",
		strings.Join(taken, ", "), key, key)
}

// tableOf returns the table that has the row, or "". The preferred table takes precedence.
func (f findings) tableOf(preferred string) string {
	if _, exists := f.rows[preferred]; exists {
		return preferred
	}
	for _, other := range f.otherTables(preferred) {
		return other
	}
	return ""
}

// otherTables returns the tables, except for the one with that name, that have a row with the key.
func (f findings) otherTables(name string) []string {
	all := slices.Sorted(maps.Keys(f.rows))
	return slices.DeleteFunc(all, func(other string) bool { return other == name })
}

// tablesToWrite returns the tables that a write of the row writes to.
func (f findings) tablesToWrite(row Row) []string { return append(f.otherTables(row.Table), row.Table) }

// find searches all tables for the key. The row may be in another table than the spec says, and the
// status may be wrong.
func (r *Rows) find(ctx context.Context, key string) (findings, error) {
	existing, err := r.describeTables(ctx, r.read)
	if err != nil {
		return findings{}, err
	}
	found, unread, err := r.readTables(ctx, existing, []string{key})
	if err != nil {
		return findings{}, err
	}
	return newFindings(existing, unread, found), nil
}

// findIn is like find in a transaction, which a table that cannot be read would abort. findIn does not read the
// tables that find could not read.
func (r *Rows) findIn(ctx context.Context, tx pgx.Tx, key string, unread map[string]error) (findings, error) {
	existing, err := r.describeTables(ctx, inside(tx))
	if err != nil {
		return findings{}, err
	}
	maps.Copy(existing.unread, unread)
	var found []located
	for _, t := range existing.tables {
		if existing.unread[t.name] != nil {
			continue
		}
		rows, err := readRows(ctx, inside(tx), t, []string{key})
		if err != nil {
			return findings{}, r.locks.observe(forReading, err)
		}
		found = append(found, rows...)
	}
	return newFindings(existing, existing.unread, found), nil
}

// located is a row and its place.
type located struct {
	table, key string
	values     values
}

// readTables reads the rows with the keys from each table by itself. unread are the tables that cannot be read; their
// errors have the type *Error.
func (r *Rows) readTables(ctx context.Context, existing catalog, keys []string) (found []located, unread map[string]error, err error) {
	unread = maps.Clone(existing.unread)
	for name, t := range existing.tables {
		var rows []located
		err := r.locks.check(forReading, name)
		if err == nil {
			rows, err = readRows(ctx, r.read, t, keys)
		}
		known, ok := errors.AsType[*Error](r.locks.observe(forReading, err))
		switch {
		case ok:
			unread[name] = known
		case isAnswer(err):
			unread[name] = brokenTable(name, err)
		case err != nil:
			return nil, nil, err
		}
		found = append(found, rows...)
	}
	return found, unread, nil
}

// readRows reads the rows with the keys from a table.
func readRows(ctx context.Context, read reader, t table, keys []string) (found []located, err error) {
	err = read(ctx, func(rows pgx.Rows) error {
		var key string
		var v values
		_, err := pgx.ForEachRow(rows, []any{&key, &v.Name, &v.Age, &v.Country}, func() error {
			found = append(found, located{table: t.name, key: key, values: v})
			return nil
		})
		return err
	}, t.query(), keys)
	return found, classify(err, t.name)
}

// newFindings returns the findings about one key. All rows in found have this key.
func newFindings(existing catalog, unread map[string]error, found []located) findings {
	f := findings{
		tables: existing.tables, unread: unread,
		rows: map[string]values{}, duplicated: map[string]bool{}, foreign: map[string]bool{},
	}
	for _, row := range found {
		_, f.duplicated[row.table] = f.rows[row.table]
		f.rows[row.table] = row.values
	}
	return f
}
