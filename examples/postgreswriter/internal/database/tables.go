package database

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// columns are the required columns of a table.
var columns = []string{"id", "name", "age", "country"}

// A table is an existing table or view.
type table struct {
	name, schema string
	// isVisible reports whether the table is found by its name. isHidden reports whether it is not, although the search
	// path has the schema: the user may not use the schema.
	isVisible, isHidden bool
	// columns are the required columns that the table has. A column id of another type than text cannot
	// store keys, and is missing here.
	columns []string
	// rights are the rights of the user: select, insert, update and delete.
	rights []bool
}

// hasTextID reports whether the table can have rows with our keys.
func (t table) hasTextID() bool { return slices.Contains(t.columns, "id") }

// check returns an error if the table lacks a required column.
func (t table) check() error {
	var missing []string
	for _, column := range columns {
		if !slices.Contains(t.columns, column) {
			missing = append(missing, fmt.Sprintf("%q", column))
		}
	}
	if len(missing) > 0 {
		return refuse(WrongColumns, "table %q lacks %s; it needs id (text, unique), name and country (text), age (a number)",
			t.name, strings.Join(missing, ", "))
	}
	return nil
}

// query returns a query for the rows with the keys $1. Its columns are the key and the three values.
func (t table) query() string {
	selected := []string{"id::text"}
	for _, column := range columns[1:] {
		if !slices.Contains(t.columns, column) {
			column = "null"
		}
		selected = append(selected, column+"::text")
	}
	return "select " + strings.Join(selected, ", ") + " from " + identifier(t.name) + " where id = any($1::text[])"
}

// A catalog has the tables and views that have one of the names of --tables, by name.
type catalog struct {
	tables    map[string]table  // those that are found by their name
	hidden    map[string]error  // those in a schema of the search path that the user may not use
	elsewhere map[string]string // the schemas of those that are in other schemas only
}

// describeTables returns the tables and views with the names. It reads tables and columns from the same snapshot:
// to_regclass would also find a table that another operator creates at this moment, whose columns the snapshot does not
// have yet.
func describeTables(ctx context.Context, read reader, names []string) (catalog, error) {
	found := catalog{tables: map[string]table{}, hidden: map[string]error{}, elsewhere: map[string]string{}}
	var t table
	err := read(ctx, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&t.name, &t.schema, &t.isVisible, &t.isHidden, &t.rights, &t.columns}, func() error {
			switch {
			case t.isVisible:
				found.tables[t.name] = t
			case t.isHidden:
				found.hidden[t.name] = refuse(Refused, "table %q: permission denied for schema %q", t.name, t.schema)
			default:
				found.elsewhere[t.name] = t.schema
			}
			t.rights, t.columns = nil, nil
			return nil
		})
		return err
	}, describe, names, columns)
	for name := range found.hidden {
		delete(found.tables, name) // in a later schema of the search path
	}
	for name := range found.tables {
		delete(found.elsewhere, name)
	}
	return found, err
}

// describe is the query of describeTables. Category S contains the text types.
const describe = `
	select c.relname::text, n.nspname::text, pg_table_is_visible(c.oid),
		not has_schema_privilege(n.oid, 'usage') and n.nspname = any(select btrim(schema, ' "')
			from unnest(string_to_array(replace(current_setting('search_path'), '$user', current_user), ',')) schema),
		array[has_table_privilege(c.oid, 'select'), has_table_privilege(c.oid, 'insert'),
			has_table_privilege(c.oid, 'update'), has_table_privilege(c.oid, 'delete')],
		coalesce(array_agg(a.attname::text order by a.attname) filter (where a.attname is not null), '{}')
	from pg_class c
	join pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^pg_(temp|toast)'
	left join pg_attribute a
		on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		and a.attname = any($2::text[])
		and (a.attname <> 'id' or (select typcategory from pg_type t where t.oid = a.atttypid) = 'S')
	where c.relname = any($1::text[])
	group by c.oid, c.relname, n.oid, n.nspname`

// createTable creates a table. The lock serialises concurrent calls, one of which would otherwise fail.
func createTable(ctx context.Context, tx pgx.Tx, name string) error {
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtext('postgreswriter: create table'))`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `create table if not exists `+identifier(name)+
		` (id text primary key, name text, age integer, country text)`)
	return classify(err, name)
}

// identifier quotes a name for SQL.
func identifier(name string) string { return pgx.Identifier{name}.Sanitize() }
