package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Writes counts the writes to a database.
type Writes struct {
	// Statements is how many INSERT, UPDATE, DELETE, MERGE, TRUNCATE and COPY FROM
	// were executed, alone, in a WITH, or by a function or a trigger.
	Statements int64
	// Rows counts the rows written by these statements. Rows written in a WITH count only if the
	// main statement writes, too.
	Rows int64
}

// isWriting matches the beginnings of statements that write: SELECT … FOR UPDATE, ON DELETE CASCADE
// and the body of a function contain the same words.
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

// Written returns all writes to the database since its creation. The result is exact: it counts the
// statements that a client has seen completed, rolled back or not, and no failed statements.
// Server.Kill resets it to zero; Server.Stop does not.
//
// The source is the module pg_stat_statements, whose counters every session updates before it
// reports a statement as complete. The counters of pg_stat_user_tables do not suffice: a session
// updates them when it is idle, up to ten seconds later, and no other session can force the update.
// Nor do positions in the write-ahead log, which advance by themselves.
//
// If the server has not loaded the module, or does not let the user read it, the error wraps
// [errors.ErrUnsupported].
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

// withoutModule marks the errors of a server that lacks the module: no such file, not loaded at the
// start, or not accessible to this user.
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
