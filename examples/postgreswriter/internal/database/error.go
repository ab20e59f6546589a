package database

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"syscall"

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
	// RowExists: a table has a row with the key already, and the caller has no claim to the row.
	RowExists = "RowExists"
	// UniqueViolation: another row has a value that has to be unique.
	UniqueViolation = "UniqueViolation"
	// NotStored: the table does not store the row as written.
	NotStored = "NotStored"
	// Refused: the database refuses the statement for another reason.
	Refused = "Refused"
	// TableLocked: another session has locked the table, or a row of it.
	TableLocked = "TableLocked"
	// Unavailable: the database or the connection has a problem.
	Unavailable = "DatabaseUnavailable"
	// NotActive: another operator has the global lock.
	NotActive = "NotActive"
)

// An Error is the error of a statement or of the connection, or a refusal of this package.
type Error struct {
	// Reason is one of the constants.
	Reason string
	// Message is the message for a condition. The same problem has the same message each time. Errors of
	// connections are not included, since they contain ports and addresses.
	Message string

	table string // that is locked, and not only a row of it
	cause error  // nil for a refusal of this package
}

func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the error of the database or of the connection, or nil.
func (e *Error) Unwrap() error { return e.cause }

// IsTemporary reports whether a later attempt may succeed without a change by a person: of the spec, the
// table, or the flags or permissions of the operator.
func (e *Error) IsTemporary() bool {
	return e.Reason == Unavailable || e.Reason == TableLocked || e.Reason == NotActive
}

// Inactive returns the error of a Guard for an operator that may not write.
func Inactive(cause error) *Error {
	return &Error{Reason: NotActive, Message: "this operator does not have the global lock", cause: cause}
}

func refuse(reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// classify returns an *Error if a statement failed because of the table, and err otherwise.
// The message may contain values of the row, which the spec shows as well, but no password.
func classify(err error, table string) error {
	var pgErr *pgconn.PgError
	switch {
	case !errors.As(err, &pgErr):
		return err
	case pgErr.Code == lockNotAvailable && pgErr.Where != "": // such as: while updating tuple (0,1) in relation "students"
		return refuse(TableLocked, "a row of table %q is locked by another session", table)
	case pgErr.Code == lockNotAvailable:
		return locked(table)
	case isTemporary(pgErr.Code):
		return err
	}
	return refuse(reasonOf(pgErr.Code), "table %q: %s", table, pgErr.Error())
}

func locked(table string) *Error {
	err := refuse(TableLocked, "table %q is locked by another session", table)
	err.table = table
	return err
}

// toError returns err as an *Error.
func toError(err error) error {
	var known *Error
	var pgErr *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &pgErr):
		return &Error{Reason: Unavailable, Message: "the database says: " + withoutAddress(pgErr.Message), cause: err}
	}
	return &Error{Reason: Unavailable, Message: unreachable(err), cause: err}
}

// unreachable returns the message for an error of a connection, without names and addresses.
func unreachable(err error) string {
	const message = "the database cannot be reached"
	switch {
	case errors.As(err, new(x509.HostnameError)):
		return message + ": its certificate is for another name than PSQL_HOST"
	case errors.As(err, new(x509.UnknownAuthorityError)), errors.As(err, new(x509.CertificateInvalidError)):
		return message + ": its certificate is not trusted"
	case strings.Contains(err.Error(), "server refused TLS connection"): // has no type
		return message + ": it offers no TLS, which PSQL_SSLMODE requires"
	case errors.As(err, new(*net.DNSError)):
		return message + ": the name of PSQL_HOST does not resolve"
	case errors.Is(err, syscall.ECONNREFUSED):
		return message + ": the connection is refused"
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return message + ": no answer"
	}
	return message
}

// clientAddress is the part of an error of the server that names the address of the operator.
var clientAddress = regexp.MustCompile(`host "[^"]*"`)

// withoutAddress returns a message of the server without the address of the operator.
func withoutAddress(message string) string {
	return clientAddress.ReplaceAllString(message, "the host of the operator")
}

// isAnswer reports whether err is the answer of a server that goes on, to a statement.
func isAnswer(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && !errors.As(err, new(*pgconn.ConnectError)) && !strings.HasPrefix(pgErr.Code, "57P")
}

// brokenTable returns the error for a table that cannot be read although the database goes on: a foreign table whose server
// is down, or a damaged one.
func brokenTable(table string, err error) *Error {
	var pgErr *pgconn.PgError
	errors.As(err, &pgErr)
	return &Error{Reason: Unavailable, Message: fmt.Sprintf("table %q: %s", table, withoutAddress(pgErr.Message)), cause: err}
}

// isTemporary reports whether an error with this code may disappear without a change by a person. The
// first two characters of the code are its class: connections, accounts, interrupted transactions,
// insufficient resources, shutdown or internal errors.
//
// https://www.postgresql.org/docs/current/errcodes-appendix.html
func isTemporary(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", "25", "28", "3D", "40", "53", "57", "58", "XX":
		return true
	}
	return code == undefinedTable || code == ""
}

const (
	// undefinedTable is the code for a table that was dropped since describeTables found it.
	undefinedTable = "42P01"
	// lockNotAvailable is the code for a statement that has exceeded lock_timeout.
	lockNotAvailable = "55P03"
)

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
