package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Writes counts what has been written to a database.
type Writes struct {
	// Statements is how many INSERT, UPDATE, DELETE, MERGE, TRUNCATE and COPY FROM
	// were executed, alone, in a WITH, or by a function or a trigger.
	Statements int64
	// Rows is how many rows these wrote; those written in a WITH count only if the
	// statement that follows it writes, too.
	Rows int64
}

// isWriting matches the text of statements that write. It looks at how they begin:
// SELECT … FOR UPDATE, ON DELETE CASCADE and the body of a function have the words, too.
const isWriting = `^(\s|--[^\n]*\n|/\*.*\*/)*` +
	`((insert|update|delete|merge|truncate)\M|copy\s+[^(\s]+\s*(\([^)]*\)\s*)?from\M|with\M.*[()]\s*(insert|update|delete|merge)\M)`

// The statistics are made visible in a schema of their own, as late as possible.
var makeStatistics = []string{
	"CREATE SCHEMA IF NOT EXISTS statistics",
	"CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA statistics",
}

const readStatistics = `
	SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(rows), 0)::bigint
	FROM statistics.pg_stat_statements
	WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query ~* $1`

// Written returns what anybody has written to the database since it was made. It is
// exact: what a client has seen completed is counted, rolled back or not, and what
// failed is not. Server.Kill sets it to zero; Server.Stop does not.
//
// The source is the module pg_stat_statements, whose counters every session moves before
// it tells its client that a statement is complete. Those of pg_stat_user_tables will
// not do: a session adds to them when it is idle, up to ten seconds later, and nobody
// can have another session do so. Nor will positions in the log of changes, which move
// by themselves.
//
// If the server does not have the module loaded, or does not let the user see it, the
// error wraps [errors.ErrUnsupported].
func (d *Database) Written(ctx context.Context) (Writes, error) {
	var w Writes
	err := d.at.with(ctx, func(conn *pgx.Conn) error {
		for _, statement := range makeStatistics {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return conn.QueryRow(ctx, readStatistics, isWriting).Scan(&w.Statements, &w.Rows)
	})
	if err != nil {
		return Writes{}, fmt.Errorf("cannot count what was written: %w", withoutModule(err))
	}
	return w, nil
}

// withoutModule marks the errors of a server that lacks the module: no such file, not
// loaded at its start, or not for this user.
func withoutModule(err error) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return err
	}
	switch answer.Code {
	case "0A000", "55000", "58P01", "42501":
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
