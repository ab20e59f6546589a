package database

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// columns are the columns that a table needs.
var columns = []string{"id", "name", "age", "country"}

// querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// A table that exists.
type table struct {
	name string
	// columns are the needed columns that the table has. An id of another type than text cannot hold our
	// keys and is left out.
	columns []string
}

// holds tells whether rows of ours can be in the table.
func (t table) holds() bool { return slices.Contains(t.columns, "id") }

// check refuses a table that such rows do not fit into.
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

// selectByID is a query for the row with the key $1: a mark, and the three values.
func (t table) selectByID(mark int) string {
	selected := []string{strconv.Itoa(mark)}
	for _, column := range columns[1:] {
		if !slices.Contains(t.columns, column) {
			column = "null"
		}
		selected = append(selected, column+"::text")
	}
	return "select " + strings.Join(selected, ", ") + " from " + identifier(t.name) + " where id = $1::text"
}

// existing are those of the names that are tables, or views, in the search path.
func existing(ctx context.Context, db querier, names []string) (map[string]table, error) {
	// Category S is that of the text types.
	rows, err := db.Query(ctx, `
		select listed.name, coalesce(array_agg(a.attname::text) filter (where a.attname is not null), '{}')
		from unnest($1::text[]) as listed(name)
		left join pg_attribute a
			on a.attrelid = to_regclass(quote_ident(listed.name)) and a.attnum > 0 and not a.attisdropped
			and a.attname = any($2::text[])
			and (a.attname <> 'id' or (select typcategory from pg_type t where t.oid = a.atttypid) = 'S')
		where to_regclass(quote_ident(listed.name)) is not null
		group by listed.name`, names, columns)
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

// create makes the table. Two that do so at once would fail in the catalog, so they take
// turns.
func create(ctx context.Context, tx pgx.Tx, name string) error {
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtext('postgreswriter: create table'))`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `create table if not exists `+identifier(name)+
		` (id text primary key, name text, age integer, country text)`)
	return judge(err, name)
}

// identifier returns a name, whatever its characters, as an identifier in SQL.
func identifier(name string) string { return pgx.Identifier{name}.Sanitize() }
