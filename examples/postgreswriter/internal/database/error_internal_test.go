package database

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

func TestErrors(t *testing.T) {
	pgErr := func(code string) error {
		return fmt.Errorf("query: %w", &pgconn.PgError{Severity: "ERROR", Code: code, Message: "no"})
	}
	for _, test := range []struct {
		name string
		err  error
		want Error
	}{
		{name: "unique", err: pgErr("23505"), want: Error{Reason: UniqueViolation, Message: `table "t": ERROR: no (SQLSTATE 23505)`}},
		{name: "table dropped", err: pgErr("42P01"), want: Error{Reason: Unavailable, Message: "the database says: no"}},
		{name: "column gone", err: pgErr("42703"), want: Error{Reason: WrongColumns, Message: `table "t": ERROR: no (SQLSTATE 42703)`}},
		{name: "not null", err: pgErr("23502"), want: Error{Reason: Refused, Message: `table "t": ERROR: no (SQLSTATE 23502)`}},
		{name: "no permission", err: pgErr("42501"), want: Error{Reason: Refused, Message: `table "t": ERROR: no (SQLSTATE 42501)`}},
		{name: "a trigger", err: pgErr("P0001"), want: Error{Reason: Refused, Message: `table "t": ERROR: no (SQLSTATE P0001)`}},
		{name: "password", err: pgErr("28P01"), want: Error{Reason: Unavailable, Message: "the database says: no"}},
		{name: "shutdown", err: pgErr("57P01"), want: Error{Reason: Unavailable, Message: "the database says: no"}},
		{name: "deadlock", err: pgErr("40P01"), want: Error{Reason: Unavailable, Message: "the database says: no"}},
		{name: "a lock", err: pgErr("55P03"), want: Error{Reason: TableLocked, Message: `table "t" is locked by another session`}},
		{name: "no code", err: pgErr(""), want: Error{Reason: Unavailable, Message: "the database says: no"}},
		{name: "network", err: errors.New("reset"), want: Error{Reason: Unavailable, Message: "the database cannot be reached"}},
		{name: "timeout", err: context.DeadlineExceeded, want: Error{Reason: Unavailable, Message: "the database cannot be reached: no answer"}},
		{
			name: "address", err: &pgconn.PgError{Code: "28000", Message: `no pg_hba.conf entry for host "192.0.2.1", user "u"`},
			want: Error{Reason: Unavailable, Message: `the database says: no pg_hba.conf entry for the host of the operator, user "u"`},
		},
		{name: "a refusal", err: refuse(NotStored, "x"), want: Error{Reason: NotStored, Message: "x"}},
	} {
		var got *Error
		require.ErrorAs(t, toError(classify(test.err, "t")), &got, test.name)
		require.Equal(t, test.want.Reason, got.Reason, test.name)
		require.Equal(t, test.want.Message, got.Message, test.name)
		require.Equal(t, test.want.Reason == Unavailable || test.want.Reason == TableLocked, got.IsTemporary(), test.name)
	}
	require.NoError(t, toError(classify(nil, "t")))
	require.ErrorIs(t, toError(context.Canceled), context.Canceled)
	require.EqualError(t, toError(errors.New("dial")), "the database cannot be reached: dial")
}
