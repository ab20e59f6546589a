package database

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// A reader runs a query, and calls scan with the rows. The readers are those of outside and inside.
type reader func(ctx context.Context, scan func(pgx.Rows) error, sql string, args ...any) error

// readTimeout is how long a table may take to answer. Otherwise, a table that does not answer, such as a foreign one, would
// occupy all workers.
const readTimeout = 5 * time.Second

// read is the reader outside of a transaction.
func (r *Rows) read(ctx context.Context, scan func(pgx.Rows) error, sql string, args ...any) error {
	return r.outside(readTimeout)(ctx, scan, sql, args...)
}

// outside returns a reader outside of a transaction. It sends all statements at once, which takes one round trip, and one
// implicit transaction. If the query waits too long, the server aborts the query.
func (r *Rows) outside(limit time.Duration) reader {
	return func(ctx context.Context, scan func(pgx.Rows) error, sql string, args ...any) error {
		batch := &pgx.Batch{}
		batch.Queue("select set_config('lock_timeout', '1s', true), set_config('statement_timeout', $1, true)",
			strconv.FormatInt(limit.Milliseconds(), 10))
		batch.Queue(sql, args...)
		results := r.pool.SendBatch(ctx, batch)
		err := scanSecond(results, scan)
		return cmp.Or(err, results.Close())
	}
}

// scanSecond calls scan with the rows of the second statement of a batch.
func scanSecond(results pgx.BatchResults, scan func(pgx.Rows) error) error {
	if _, err := results.Exec(); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	return scan(rows)
}

// inside returns the reader in a transaction, which has a lock_timeout.
func inside(tx pgx.Tx) reader {
	return func(ctx context.Context, scan func(pgx.Rows) error, sql string, args ...any) error {
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		return scan(rows)
	}
}

// lockedFor is how long a table counts as locked after a statement has waited for a lock in vain. Otherwise, the writers
// of a locked table would occupy all workers.
const lockedFor = 5 * time.Second

// The uses of a table that a lock may block. A lock that blocks writes may permit reads.
const (
	forReading = "read "
	forWriting = "write "
)

// locks remembers the tables that are locked, by use and name.
type locks struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// observe remembers that a table is locked if err says so, and returns err.
func (l *locks) observe(use string, err error) error {
	if known, ok := errors.AsType[*Error](err); ok && known.table != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.until[use+known.table] = time.Now().Add(lockedFor)
	}
	return err
}

// check returns an error if the table is known to be locked.
func (l *locks) check(use, table string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until[use+table]) {
		return locked(table)
	}
	return nil
}

// forget forgets all locks, so that the next statement finds out.
func (l *locks) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.until)
}
