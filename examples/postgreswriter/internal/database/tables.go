package database

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// columns are the required columns of a table.
var columns = []string{"id", "name", "age", "country"}

// A table is an existing table or view.
type table struct {
	name string
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

// maxLength is the maximum number of characters of a value.
const maxLength = 255

// query returns a query for the rows with the keys $1. Its columns are the key and the three values, of which the query
// returns enough to tell that a value is longer than any of ours.
func (t table) query() string {
	selected := []string{"id::text"}
	for _, column := range columns[1:] {
		if !slices.Contains(t.columns, column) {
			column = "null"
		}
		selected = append(selected, "left("+column+"::text, "+strconv.Itoa(maxLength+1)+")")
	}
	return "select " + strings.Join(selected, ", ") + " from " + identifier(t.name) + " where id = any($1::text[])"
}

// A catalog has the tables and views that have one of the names of --tables, by name.
type catalog struct {
	tables map[string]table // those that can be read, as far as their columns tell
	unread map[string]error // the others
}

func (c catalog) has(name string) bool {
	_, isRead := c.tables[name]
	return isRead || c.unread[name] != nil
}

// describeTables returns the tables and views with the names. It reads tables and columns from the same snapshot:
// to_regclass would also find a table that another operator creates at this moment, whose columns the snapshot does not
// have yet.
func (r *Rows) describeTables(ctx context.Context, read reader) (catalog, error) {
	found := catalog{tables: map[string]table{}, unread: map[string]error{}}
	var t table
	var schema string
	var isVisible, isHidden bool
	err := read(ctx, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&t.name, &schema, &isVisible, &isHidden, &t.rights, &t.columns}, func() error {
			switch {
			case found.has(t.name): // in an earlier schema of the search path
			case isVisible && t.hasTextID():
				found.tables[t.name] = t
			case isVisible:
				found.unread[t.name] = t.check()
			case isHidden:
				found.unread[t.name] = refuse(Refused, "table %q: permission denied for schema %q", t.name, schema)
			case !r.options.Create:
				found.unread[t.name] = refuse(TableMissing,
					"table %q is in the schema %q, which is not in the search path of the operator's user", t.name, schema)
			}
			t.rights, t.columns = nil, nil
			return nil
		})
		return err
	}, describe, r.options.Tables, columns)
	return found, err
}

// describe is the query of describeTables. A table is hidden if the user may not use its schema, which the search path has.
// The tables come in the order of the search path. Category S contains the text types.
const describe = `
	with path as (
		select array_agg(btrim(schema, ' "')) as schemas
		from unnest(string_to_array(replace(current_setting('search_path'), '$user', current_user), ',')) schema
	)
	select c.relname::text, n.nspname::text, pg_table_is_visible(c.oid),
		not has_schema_privilege(n.oid, 'usage') and n.nspname = any(schemas),
		array[has_table_privilege(c.oid, 'select'), has_table_privilege(c.oid, 'insert'),
			has_table_privilege(c.oid, 'update'), has_table_privilege(c.oid, 'delete')],
		coalesce(array_agg(a.attname::text order by a.attname) filter (where a.attname is not null), '{}')
	from path
	join pg_class c on c.relname = any($1::text[]) and c.relkind not in ('i', 'I', 'c')
	join pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^pg_(temp|toast)'
	left join pg_attribute a
		on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		and a.attname = any($2::text[])
		and (a.attname <> 'id' or (select typcategory from pg_type t where t.oid = a.atttypid) = 'S')
	group by c.oid, c.relname, n.oid, n.nspname, schemas
	order by array_position(schemas, n.nspname::text), pg_table_is_visible(c.oid) desc, n.nspname`

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
