package database

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// operationTimeout bounds everything that is done for one row: waiting for a connection,
// for locks and for the server.
const operationTimeout = 15 * time.Second

// begin starts a transaction that the server ends if its client waits for a lock in vain, or is
// frozen, so that its locks are released. The transaction may hold the global lock, and all workers
// may wait one after another for a table that somebody has locked: a renewal of the global lock
// waits behind them, and has five seconds. As the settings are local to the transaction, they work
// through a pooler, too.
const begin = "begin; set local lock_timeout = '1s'; set local idle_in_transaction_session_timeout = '10s'"

// listTimeout bounds the listing of all keys.
const listTimeout = 5 * time.Minute

// A Row is the row that a PostgresWriter wants in a table.
type Row struct {
	Table   string
	Name    string
	Age     int32
	Country string
}

// A Change is the change that Put made.
type Change string

// The changes.
const (
	Unchanged Change = "Unchanged"
	Inserted  Change = "Inserted"
	Updated   Change = "Updated"
	Moved     Change = "Moved"
)

// A Guard checks at the beginning of a transaction whether it may write, and ensures that this
// holds until the end of the transaction.
type Guard func(ctx context.Context, tx pgx.Tx) error

// Options are the settings of Rows beside the database.
type Options struct {
	// Tables are those that may be written to.
	Tables []string
	// Create makes those that are missing.
	Create bool
	// Guard may be nil.
	Guard Guard
}

// Rows are the rows in a database, by their key. They are safe for concurrent use.
type Rows struct {
	pool    *pgxpool.Pool
	options Options
}

// NewRows returns the rows in the tables of options.
func NewRows(pool *pgxpool.Pool, options Options) *Rows {
	return &Rows{pool: pool, options: options}
}

// Open returns a pool of up to that many connections. It connects with the first statement, so that
// a database that is down is no error here. The server sees the name of the application.
func Open(ctx context.Context, settings Settings, application string, connections int32) (*pgxpool.Pool, error) {
	config, err := settings.pool(application, connections)
	if err != nil {
		return nil, err
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// Put inserts or updates the row with the key, and makes sure that none of the other tables has a
// row with the key: such a row is moved, in one transaction. If everything is as desired, Put
// writes nothing. Every error is an *Error.
func (r *Rows) Put(ctx context.Context, key string, row Row) (Change, error) {
	if !slices.Contains(r.options.Tables, row.Table) {
		return "", refuse(TableNotAllowed, "table %q is not one that the operator may write to: its flag --tables lists %s",
			row.Table, strings.Join(r.options.Tables, ", "))
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()

	// Most of the time nothing is to be done, and reading takes no transaction.
	found, err := r.lookUp(ctx, key)
	if err != nil {
		return "", explain(err)
	}
	if change := found.changeTo(row); change == Unchanged {
		return change, nil
	}
	var change Change
	err = r.write(ctx, func(tx pgx.Tx) error {
		found, err := r.find(ctx, tx, key)
		if err != nil {
			return err
		}
		change = found.changeTo(row)
		if change == Unchanged {
			return nil
		}
		if err := r.provide(ctx, tx, found, row.Table); err != nil {
			return err
		}
		if err := remove(ctx, tx, key, found.elsewhere(row.Table)); err != nil {
			return err
		}
		return store(ctx, tx, key, row)
	})
	return change, explain(err)
}

// Delete removes the row with the key, from whatever table, and reports whether there was a row. A
// missing row, or a missing table, is no error. Every error is an *Error.
func (r *Rows) Delete(ctx context.Context, key string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()

	found, err := r.lookUp(ctx, key)
	if err != nil {
		return false, explain(err)
	}
	tables := found.elsewhere("")
	if len(tables) == 0 {
		return false, nil
	}
	err = r.write(ctx, func(tx pgx.Tx) error { return remove(ctx, tx, key, tables) })
	return err == nil, explain(err)
}

// Keys calls visit with the key of each row in the tables, ours or not. Every error is an
// *Error.
func (r *Rows) Keys(ctx context.Context, visit func(key string)) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()

	tables, err := existing(ctx, r.pool, r.options.Tables)
	if err != nil {
		return explain(err)
	}
	for name, t := range tables {
		if !t.holds() {
			continue
		}
		rows, err := r.pool.Query(ctx, `select id::text from `+identifier(name)+` where id is not null`)
		if err == nil {
			var key string
			_, err = pgx.ForEachRow(rows, []any{&key}, func() error { visit(key); return nil })
		}
		if err != nil {
			return explain(judge(err, name))
		}
	}
	return nil
}

// write runs a transaction, and commits the transaction unless do fails.
func (r *Rows) write(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, r.pool, pgx.TxOptions{BeginQuery: begin}, func(tx pgx.Tx) error {
		if r.options.Guard != nil {
			if err := r.options.Guard(ctx, tx); err != nil {
				return err
			}
		}
		if err := do(tx); err != nil {
			return err
		}
		// Deferred constraints are checked here, where an error cannot be confused with an error of
		// the commit itself.
		_, err := tx.Exec(ctx, "set constraints all immediate")
		return judge(err, r.options.Tables...)
	})
}

// provide makes sure that the table exists and can hold the row.
func (r *Rows) provide(ctx context.Context, tx pgx.Tx, found findings, name string) error {
	t, exists := found.tables[name]
	switch {
	case exists:
		return t.check()
	case r.options.Create:
		return create(ctx, tx, name)
	}
	return refuse(TableMissing, "the database has no table %q; the operator makes missing ones with --create-tables", name)
}

func remove(ctx context.Context, tx pgx.Tx, key string, tables []string) error {
	for _, name := range tables {
		if _, err := tx.Exec(ctx, `delete from `+identifier(name)+` where id = $1::text`, key); err != nil {
			return judge(err, name)
		}
	}
	return nil
}

// store inserts or updates the row, and reads it back: a table that changes the row, by a trigger
// or a type, would be written to for ever.
func store(ctx context.Context, tx pgx.Tx, key string, row Row) error {
	rows, err := tx.Query(ctx, `
		insert into `+identifier(row.Table)+` as t (id, name, age, country)
		values ($1::text, $2::text, $3::integer, $4::text)
		on conflict (id) do update set name = excluded.name, age = excluded.age, country = excluded.country
		returning t.name::text, t.age::text, t.country::text`, key, row.Name, row.Age, row.Country)
	if err != nil {
		return judge(err, row.Table)
	}
	stored, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[values])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return refuse(NotStored, "table %q takes the row and does not keep it", row.Table)
	case err != nil:
		return judge(err, row.Table)
	}
	if column := stored.differsIn(row); column != "" {
		return refuse(NotStored, "table %q does not keep column %q as it is given", row.Table, column)
	}
	return nil
}
