package database

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLocks writes to a table, and to one that is known to be locked: that does not take a connection.
func TestLocks(t *testing.T) {
	rows := NewRows(nil, Options{Tables: []string{"students", "teachers"}})
	require.Error(t, rows.locks.observe(forWriting, locked("teachers")))
	err := rows.write(t.Context(), []string{"students", "teachers"}, nil)
	require.EqualError(t, err, `table "teachers" is locked by another session`)
	require.NoError(t, rows.locks.check(forReading, "teachers"))
}
