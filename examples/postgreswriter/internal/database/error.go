package database

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// The reasons of an Error.
const (
	// TableNotAllowed: the operator's flag --tables does not list the table.
	TableNotAllowed = "TableNotAllowed"
	// TableMissing: the database has no such table.
	TableMissing = "TableMissing"
	// WrongColumns: the table cannot hold such a row.
	WrongColumns = "WrongColumns"
	// UniqueViolation: a row of somebody else's has a value that has to be unique.
	UniqueViolation = "UniqueViolation"
	// NotStored: the table makes something else of the row.
	NotStored = "NotStored"
	// Refused: the database refuses the statement for another reason.
	Refused = "Refused"
	// Unavailable: the database, or the connection, has a problem.
	Unavailable = "DatabaseUnavailable"
	// NotActive: another operator has the global lock.
	NotActive = "NotActive"
)

// An Error says why a row does not match.
type Error struct {
	// Reason is one of the constants.
	Reason string
	// Message is for a condition: the same each time the same thing goes wrong, which the
	// errors of connections, with their ports and addresses, are not.
	Message string

	cause error // nil if the operator itself refuses
}

func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the error of the database or of the connection.
func (e *Error) Unwrap() error { return e.cause }

// IsTemporary reports whether a later attempt may succeed. Otherwise, somebody has to change the
// spec, the table, the flags of the operator or its permissions.
func (e *Error) IsTemporary() bool { return e.Reason == Unavailable || e.Reason == NotActive }

// Inactive returns the error of a Guard for an operator that may not write. The cause says which
// one may.
func Inactive(cause error) *Error {
	return &Error{Reason: NotActive, Message: "this operator does not have the global lock", cause: cause}
}

func refuse(reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// judge returns an Error for an answer of the database to a statement about the tables, if the
// answer will be the same the next time. The text of the answer may quote the row, which is the
// spec, but contains no password.
func judge(err error, tables ...string) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) || isTemporary(answer.Code) {
		return err
	}
	return refuse(reasonOf(answer.Code), "table %q: %s", strings.Join(tables, ", "), answer.Error())
}

// explain makes an Error of any error.
func explain(err error) error {
	var known *Error
	var answer *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &answer):
		return &Error{Reason: Unavailable, Message: "the database says: " + answer.Message, cause: err}
	}
	return &Error{Reason: Unavailable, Message: "the database cannot be reached", cause: err}
}

// isTemporary reports whether the class of the code, its first two characters, is about a state
// that may change: a connection, an account, an interrupted transaction, a server that is full,
// shutting down or broken.
//
// https://www.postgresql.org/docs/current/errcodes-appendix.html
func isTemporary(code string) bool {
	const lockNotAvailable = "55P03"
	switch code[:min(2, len(code))] {
	case "08", "25", "28", "3D", "40", "53", "57", "58", "XX":
		return true
	}
	return code == lockNotAvailable || code == undefinedTable || code == ""
}

// undefinedTable is of one that was dropped since we looked which there are.
const undefinedTable = "42P01"

func isUndefinedTable(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == undefinedTable
}

func reasonOf(code string) string {
	switch code {
	case "23505": // unique_violation
		return UniqueViolation
	case "42703", "42804", "42883", "42P10", "42846":
		// undefined_column, datatype_mismatch, undefined_function (no such comparison),
		// invalid_column_reference (no unique index to conflict with), cannot_coerce
		return WrongColumns
	}
	return Refused
}
