package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// writer is the role of the operator in the database.
const writer = "writer"

// prepareDatabase creates the tables and the operator's role.
func (e *environment) prepareDatabase(ctx context.Context) error {
	var statements []string
	for _, table := range owners.Tables {
		statements = append(statements, "create table "+table+" (id text primary key, name text, age integer, country text)")
	}
	statements = append(statements,
		fmt.Sprintf("create role %s login password '%s'", writer, writer),
		"grant create on schema public to "+writer, give)
	for _, statement := range statements {
		if _, err := e.database.Pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

var (
	rights = "select, insert, update, delete on " + strings.Join(owners.Tables, ", ")
	give   = "grant " + rights + " to " + writer
	take   = "revoke " + rights + " from " + writer
)

// databaseFaults returns the faults of the database. With a server that the environment
// names, all but the last one are skipped.
func (e *environment) databaseFaults() []choice {
	return []choice{
		{"PostgreSQL stopped", 0, 6 * time.Second, func(ctx context.Context, e *environment, last lasting) error {
			return errors.Join(e.server.Stop(), last(), e.server.Restart(ctx)) //nolint:contextcheck // a stop takes the time that it takes
		}},
		{"PostgreSQL killed in a transaction", 0, 4 * time.Second, killedInTransaction},
		{"PostgreSQL role without rights", 2 * time.Second, 8 * time.Second, func(ctx context.Context, e *environment, last lasting) error {
			return errors.Join(e.exec(ctx, take), last(), e.exec(ctx, give))
		}},
	}
}

// exec runs a statement until the database answers.
func (e *environment) exec(ctx context.Context, statement string) error {
	return await.Until(ctx, waitTimeout, func(ctx context.Context) error {
		_, err := e.database.Pool.Exec(ctx, statement)
		return err
	})
}

// killedInTransaction kills the server while a transaction of the operator waits for a lock, or after a while without
// such a transaction.
func killedInTransaction(ctx context.Context, e *environment, last lasting) error {
	if tx, err := e.database.Pool.Begin(ctx); err == nil {
		_, _ = tx.Exec(ctx, "lock table "+strings.Join(owners.Tables, ", ")+" in share row exclusive mode")
		_ = await.Until(ctx, 2*time.Second, func(ctx context.Context) error { // there may be nothing to write
			var waiting int
			return e.database.Pool.QueryRow(ctx, "select 1 from pg_stat_activity where usename = $1 and wait_event_type = 'Lock' limit 1",
				writer).Scan(&waiting)
		})
		defer func() { _ = tx.Rollback(ctx) }() // it ended with the server
	}
	return errors.Join(e.server.Kill(), last(), e.server.Restart(ctx)) //nolint:contextcheck // a kill does not wait
}
