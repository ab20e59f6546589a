package database

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"
)

// operationTimeout is the timeout of all operations for one row, including the wait for a connection, for
// locks and for the server.
const operationTimeout = 15 * time.Second

// begin starts a transaction. If the transaction waits too long for a lock, or if the operator freezes, the
// server aborts the transaction and releases its locks. The transaction may lock the row of the global
// lock, and the renewal of the global lock has a timeout of five seconds. Several workers may block the
// renewal one after another, so lock_timeout is one second. The settings are local to the transaction, so
// that they work with a pooler.
const begin = "begin; set local lock_timeout = '1s'; set local idle_in_transaction_session_timeout = '10s'"

// claimTimeout is the timeout of the request to the API server within a transaction. The transaction may
// delay the renewal of the global lock.
const claimTimeout = 2 * time.Second

// listTimeout is the timeout of Keys.
const listTimeout = 5 * time.Minute

// pingTimeout is the timeout of Ping. It is shorter than the timeout of the readiness probe.
const pingTimeout = 2 * time.Second

// A Row is the desired row of a PostgresWriter.
type Row struct {
	Table   string
	Name    string
	Age     int32
	Country string
}

// A Change is the result of Put.
type Change string

// The changes.
const (
	Unchanged Change = "Unchanged"
	Inserted  Change = "Inserted"
	Updated   Change = "Updated"
	Moved     Change = "Moved"
)

// A Guard returns an error if the transaction may not write. A transaction that may write keeps this
// permission until the end.
type Guard func(ctx context.Context, tx pgx.Tx) error

// Options configure Rows.
type Options struct {
	// Tables are the tables in which rows may be written.
	Tables []string
	// Create enables the creation of missing tables.
	Create bool
	// Guard is called at the beginning of each transaction, unless it is nil.
	Guard Guard
}

// Rows reads and writes rows by their key. The methods are safe for concurrent use.
type Rows struct {
	pool    *pgxpool.Pool
	options Options
	metrics *metrics
	locks   locks
	// guarded is held by the transaction that passes the guard.
	guarded *semaphore.Weighted
	// unavailable receives after a failure of the database.
	unavailable chan struct{}
}

// NewRows returns the rows in the tables of options.
func NewRows(pool *pgxpool.Pool, options Options) *Rows {
	return &Rows{
		pool: pool, options: options, metrics: newMetrics(options.Tables), locks: locks{until: map[string]time.Time{}},
		guarded: semaphore.NewWeighted(1), unavailable: make(chan struct{}, 1),
	}
}

// Open returns a pool with that maximum number of connections. Open does not connect yet, so a database
// that is down is no error. application is the name of the client on the server.
func Open(ctx context.Context, settings Settings, application string, connections int32) (*pgxpool.Pool, error) {
	config, err := settings.pool(application, connections)
	if err != nil {
		return nil, err
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// A Result is the result of Put.
type Result struct {
	Change Change
	// Unchecked are the tables of Claim.Unchecked that still cannot be read, or have a row of somebody else.
	Unchecked []string
}

// Put inserts or updates the row with the key of the claim. If another table has a row with the key, Put moves the row
// in one transaction. Put writes nothing if the row matches already. Every error is an *Error.
func (r *Rows) Put(ctx context.Context, claim Claim, row Row) (Result, error) {
	if err := r.checkAllowed(row.Table); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()

	// Usually, nothing has to be done, and reading needs no transaction.
	found, err := r.find(ctx, claim.Key)
	if err == nil {
		err = found.restrictTo(claim, row.Table)
	}
	if err != nil {
		return Result{}, r.failure(err)
	}
	r.metrics.saw(claim.Key, found.tableOf(row.Table))
	result := Result{Change: found.changeTo(row), Unchecked: found.unchecked(claim)}
	if result.Change == Unchanged {
		return result, nil
	}
	err = r.write(ctx, found.tablesToWrite(row), func(tx pgx.Tx) (err error) {
		result.Change, err = r.putIn(ctx, tx, claim, row, found.unread, Overwrite)
		return err
	})
	if err != nil {
		return Result{}, r.failure(err)
	}
	r.metrics.wrote(claim.Key, row.Table, result.Change)
	return result, nil
}

// putIn is Put in a transaction, which does not read the tables in unread. With Refuse, putIn writes only a new row.
func (r *Rows) putIn(ctx context.Context, tx pgx.Tx, claim Claim, row Row, unread map[string]error, conflict Conflict) (Change, error) {
	found, err := r.findIn(ctx, tx, claim.Key, unread)
	if err == nil {
		err = found.restrictTo(claim, row.Table)
	}
	if err == nil && conflict == Refuse {
		err = found.checkFree(claim.Key)
	}
	if err != nil {
		return "", err
	}
	change, others := found.changeTo(row), found.otherTables(row.Table)
	if change == Unchanged {
		return change, nil
	}
	if err := r.ensureTable(ctx, tx, found, row.Table); err != nil {
		return "", err
	}
	if err := remove(ctx, tx, claim.Key, others); err != nil {
		return "", err
	}
	isStored, err := store(ctx, tx, claim.Key, row, conflict)
	if err == nil && !isStored && conflict == Refuse {
		err = r.explainSkipped(ctx, tx, claim.Key, unread)
	}
	if err == nil {
		err = found.verify(ctx, tx, claim.Key, row, append(others, row.Table))
	}
	return change, err
}

// explainSkipped returns an error if another transaction has inserted the key since the last search.
func (r *Rows) explainSkipped(ctx context.Context, tx pgx.Tx, key string, unread map[string]error) error {
	found, err := r.findIn(ctx, tx, key, unread)
	if err != nil {
		return err
	}
	return found.checkFree(key)
}

// verify returns an error unless the row is the only one with the key in the written tables. A trigger, a view or a type
// may change the row, or keep it from being stored or deleted, and each reconcile would write it again. The table of row is
// empty if there should be none.
func (f findings) verify(ctx context.Context, tx pgx.Tx, key string, row Row, written []string) error {
	// Deferred constraints and triggers come first, so that their errors differ from errors of the commit.
	if _, err := tx.Exec(ctx, "set constraints all immediate"); err != nil {
		return classify(err, written[len(written)-1])
	}
	isStored := row.Table == ""
	for _, name := range written {
		found, err := readRows(ctx, inside(tx), f.tables[name], []string{key})
		if err != nil {
			return err
		}
		for _, is := range found {
			if name != row.Table {
				return refuse(NotStored, "table %q does not delete the row", name)
			}
			if column := is.values.differsIn(row); column != "" {
				return refuse(NotStored, "table %q does not keep column %q as it is given", name, column)
			}
			isStored = true
		}
	}
	if !isStored {
		return refuse(NotStored, "table %q takes the row, and has none with its id afterwards", row.Table)
	}
	return nil
}

// Delete deletes the rows with the key of the claim from all tables, and reports whether there was a row. A row or a
// table that does not exist is no error. Every error is an *Error.
func (r *Rows) Delete(ctx context.Context, claim Claim) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()

	found, err := r.find(ctx, claim.Key)
	if err == nil {
		err = found.restrictTo(claim, "")
	}
	if err != nil {
		return false, r.failure(err)
	}
	tables := found.otherTables("")
	if len(tables) == 0 {
		r.Forget(claim.Key)
		return false, nil
	}
	err = r.write(ctx, tables, func(tx pgx.Tx) error {
		if err := remove(ctx, tx, claim.Key, tables); err != nil {
			return err
		}
		return found.verify(ctx, tx, claim.Key, Row{}, tables)
	})
	if err != nil {
		return false, r.failure(err)
	}
	r.metrics.wrote(claim.Key, "", deleted)
	return true, nil
}

// Ping returns an error unless the database answers within two seconds. The error has no details of the
// connection.
func (r *Rows) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()

	if known, ok := errors.AsType[*Error](toError(r.pool.Ping(ctx))); ok {
		return errors.New(known.Message)
	}
	return nil
}

// Keys calls visit with the key of each row in the tables, including rows of other programs. A table that cannot be read
// does not keep Keys from reading the others. Every error is an *Error.
func (r *Rows) Keys(ctx context.Context, visit func(key string)) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()

	found, err := r.describeTables(ctx, r.read)
	if err != nil {
		return r.failure(err)
	}
	var failed error
	for _, err := range found.unread {
		failed = r.failure(err)
	}
	for name := range found.tables {
		err := r.outside(listTimeout)(ctx, func(rows pgx.Rows) error {
			var key string
			_, err := pgx.ForEachRow(rows, []any{&key}, func() error { visit(key); return nil })
			return err
		}, `select id::text from `+identifier(name)+` where id is not null`)
		if err != nil {
			failed = r.failure(classify(err, name))
		}
	}
	return failed
}

// write calls do in a transaction, and commits the transaction unless do returns an error. The transaction writes to
// the tables.
func (r *Rows) write(ctx context.Context, tables []string, do func(pgx.Tx) error) error {
	for _, table := range tables {
		if err := r.locks.check(forWriting, table); err != nil {
			return err
		}
	}
	if r.options.Guard != nil {
		// The guard lets in one transaction at a time. In the database, they would wait longer than lock_timeout.
		if err := r.guarded.Acquire(ctx, 1); err != nil {
			return err
		}
		defer r.guarded.Release(1)
	}
	err := pgx.BeginTxFunc(ctx, r.pool, pgx.TxOptions{BeginQuery: begin}, func(tx pgx.Tx) error {
		if r.options.Guard != nil {
			if err := r.options.Guard(ctx, tx); err != nil {
				return err
			}
		}
		return do(tx)
	})
	return r.locks.observe(forWriting, err)
}

// checkAllowed returns an error unless rows may be written to the table. It sends nothing to the database.
func (r *Rows) checkAllowed(table string) error {
	if r.IsListed(table) {
		return nil
	}
	return refuse(TableNotAllowed, "table %q is not one that the operator may write to: its flag --tables lists %s",
		table, strings.Join(r.options.Tables, ", "))
}

// ensureTable returns an error if the table cannot store the row, and creates a missing table if Create is
// set.
func (r *Rows) ensureTable(ctx context.Context, tx pgx.Tx, found findings, name string) error {
	t, exists := found.tables[name]
	switch {
	case exists:
		return t.check()
	case !r.options.Create:
		return refuse(TableMissing, "the database has no table %q; the operator makes missing ones with --create-tables", name)
	}
	found.tables[name] = table{name: name, columns: columns}
	return createTable(ctx, tx, name)
}

// remove deletes the rows with the key from the tables.
func remove(ctx context.Context, tx pgx.Tx, key string, tables []string) error {
	for _, name := range tables {
		if _, err := tx.Exec(ctx, `delete from `+identifier(name)+` where id = $1::text`, key); err != nil {
			return classify(err, name)
		}
	}
	return nil
}

// A Conflict says what happens to a row with the key that exists. It is a part of SQL.
type Conflict string

// The conflicts.
const (
	Overwrite Conflict = `update set name = excluded.name, age = excluded.age, country = excluded.country`
	Refuse    Conflict = `nothing`
)

// store inserts the row. isStored is false if the database skipped the row without an error.
func store(ctx context.Context, tx pgx.Tx, key string, row Row, conflict Conflict) (isStored bool, err error) {
	tag, err := tx.Exec(ctx, `
		insert into `+identifier(row.Table)+` (id, name, age, country)
		values ($1::text, $2::text, $3::integer, $4::text)
		on conflict (id) do `+string(conflict), key, row.Name, row.Age, row.Country)
	return tag.RowsAffected() > 0, classify(err, row.Table)
}
