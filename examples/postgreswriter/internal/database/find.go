package database

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// values are a row's columns as text, nil where they are null or the table has no such
// column.
type values struct{ Name, Age, Country *string }

// differsIn returns the first column that differs from row.
func (v values) differsIn(row Row) string {
	is := func(stored *string, wanted string) bool { return stored != nil && *stored == wanted }
	switch {
	case !is(v.Name, row.Name):
		return "name"
	case !is(v.Age, strconv.Itoa(int(row.Age))):
		return "age"
	case !is(v.Country, row.Country):
		return "country"
	}
	return ""
}

// findings are where a key is.
type findings struct {
	tables  map[string]table  // that exist, by name
	rows    map[string]values // by the table's name
	doubled map[string]bool   // tables with more than one row of the key
}

// changeTo returns the change that leads to this row, and no other with the key.
func (f findings) changeTo(row Row) Change {
	if f.doubled[row.Table] {
		return Updated // which such a table refuses
	}
	stored, there := f.rows[row.Table]
	switch {
	case len(f.elsewhere(row.Table)) > 0:
		return Moved
	case !there:
		return Inserted
	case stored.differsIn(row) != "":
		return Updated
	}
	return Unchanged
}

// elsewhere are the tables with the key other than that of the name.
func (f findings) elsewhere(name string) []string {
	all := slices.Sorted(maps.Keys(f.rows))
	return slices.DeleteFunc(all, func(other string) bool { return other == name })
}

// lookUp returns the existing rows. A table that is dropped during the search is missing in the
// next one.
func (r *Rows) lookUp(ctx context.Context, key string) (findings, error) {
	found, err := r.find(ctx, r.pool, key)
	if isUndefinedTable(err) {
		return r.find(ctx, r.pool, key)
	}
	return found, err
}

// find searches all tables for the key: the table may have changed, and no record of the earlier
// table can be trusted.
func (r *Rows) find(ctx context.Context, db querier, key string) (findings, error) {
	tables, err := existing(ctx, db, r.options.Tables)
	if err != nil {
		return findings{}, err
	}
	found := findings{tables: tables, rows: map[string]values{}, doubled: map[string]bool{}}
	var names, parts []string
	for _, name := range r.options.Tables {
		if t := tables[name]; t.holds() {
			parts = append(parts, t.selectByID(len(names)))
			names = append(names, name)
		}
	}
	if len(parts) == 0 {
		return found, nil
	}
	rows, err := db.Query(ctx, strings.Join(parts, " union all "), key)
	if err == nil {
		var mark int
		var v values
		_, err = pgx.ForEachRow(rows, []any{&mark, &v.Name, &v.Age, &v.Country}, func() error {
			_, again := found.rows[names[mark]]
			found.doubled[names[mark]] = again
			found.rows[names[mark]] = v
			return nil
		})
	}
	return found, judge(err, names...)
}
