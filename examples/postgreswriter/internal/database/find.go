package database

import (
	"context"
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

// findings has the result of the search for a key.
type findings struct {
	tables     map[string]table  // existing tables, by name
	rows       map[string]values // rows with the key, by the name of the table
	duplicated map[string]bool   // tables with several rows with the key
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
	taken := f.otherTables("")
	if len(taken) == 0 {
		return nil
	}
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

// findWithRetry is like find, but retries once if a table was dropped during the search.
func (r *Rows) findWithRetry(ctx context.Context, key string) (findings, error) {
	found, err := r.find(ctx, r.pool, key)
	if isUndefinedTable(err) {
		return r.find(ctx, r.pool, key)
	}
	return found, err
}

// find searches all tables for the key. The row may be in another table than the spec says, and the
// status may be wrong.
func (r *Rows) find(ctx context.Context, db querier, key string) (findings, error) {
	tables, err := existingTables(ctx, db, r.options.Tables)
	if err != nil {
		return findings{}, err
	}
	found := findings{tables: tables, rows: map[string]values{}, duplicated: map[string]bool{}}
	var names, parts []string
	for _, name := range r.options.Tables {
		if t := tables[name]; t.hasTextID() {
			parts = append(parts, t.selectByID(len(names)))
			names = append(names, name)
		}
	}
	if len(parts) == 0 {
		return found, nil
	}
	rows, err := db.Query(ctx, strings.Join(parts, " union all "), key)
	if err == nil {
		var index int
		var v values
		_, err = pgx.ForEachRow(rows, []any{&index, &v.Name, &v.Age, &v.Country}, func() error {
			_, duplicate := found.rows[names[index]]
			found.duplicated[names[index]] = duplicate
			found.rows[names[index]] = v
			return nil
		})
	}
	return found, classify(err, names...)
}
