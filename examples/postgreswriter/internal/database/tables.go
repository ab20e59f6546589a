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

// A querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// A table is an existing table or view.
type table struct {
	name string
	// columns are the required columns that the table has. A column id of another type than text cannot
	// store keys, and is missing here.
	columns []string
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

// selectByID returns a query for the rows with the key $1. Its columns are index and the three values.
func (t table) selectByID(index int) string {
	selected := []string{strconv.Itoa(index)}
	for _, column := range columns[1:] {
		if !slices.Contains(t.columns, column) {
			column = "null"
		}
		selected = append(selected, column+"::text")
	}
	return "select " + strings.Join(selected, ", ") + " from " + identifier(t.name) + " where id = $1::text"
}

// existingTables returns the tables and views in the search path that have one of the names. It reads
// tables and columns from the same snapshot: to_regclass would also find a table that another operator
// creates at this moment, whose columns the snapshot does not have yet.
func existingTables(ctx context.Context, db querier, names []string) (map[string]table, error) {
	// Category S contains the text types.
	rows, err := db.Query(ctx, `
		select c.relname::text, coalesce(array_agg(a.attname::text) filter (where a.attname is not null), '{}')
		from pg_class c
		left join pg_attribute a
			on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
			and a.attname = any($2::text[])
			and (a.attname <> 'id' or (select typcategory from pg_type t where t.oid = a.atttypid) = 'S')
		where c.relname = any($1::text[]) and pg_table_is_visible(c.oid)
		group by c.relname`, names, columns)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t table, err error) {
		return t, row.Scan(&t.name, &t.columns)
	})
	if err != nil {
		return nil, err
	}
	tables := make(map[string]table, len(found))
	for _, t := range found {
		tables[t.name] = t
	}
	return tables, nil
}

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
