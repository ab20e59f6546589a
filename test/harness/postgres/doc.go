// Package postgres runs a throwaway PostgreSQL server for tests: real server
// processes that listen on 127.0.0.1 only, ask for a password, and can be
// stopped, killed, frozen and started again. A start takes a second, and
// any number can run side by side.
//
//	func TestRowsAreWritten(t *testing.T) {
//		database := postgres.New(t).Database(t)
//		operator.Env = append(operator.Env, database.Environment()...)
//		…
//		before, err := database.Written(t.Context())
//		require.NoError(t, err)
//		…
//		after, err := database.Written(t.Context())
//		require.NoError(t, err)
//		require.Equal(t, before, after, "a repeated reconcile writes nothing")
//	}
//
// # An existing server
//
// If PSQL_HOST, PSQL_PORT, PSQL_DBNAME, PSQL_USER, PSQL_PASSWORD and, if need be,
// PSQL_SSLMODE are set, the named server is used instead of a fresh one. The user
// must be allowed to create databases. Tests create only databases there, and drop
// them at their end. Operations that only the owner of a server may do return an
// error that wraps [errors.ErrUnsupported]; a test that needs one is skipped, with
// that error as the reason.
//
// # The programs
//
// The programs of a server are searched on PATH, where pg_config says, and in the
// folders of distributions and Homebrew; of several versions, the newest is used. If
// there are none, and this process runs as root and has apt-get, the distribution's
// package is installed, without the server that this package would start. PostgreSQL
// refuses to run as root: then it runs as the user postgres or, if missing, nobody.
//
// # Durability
//
// A server writes data to the operating system before acknowledging a transaction, but
// does not wait for the disk. Therefore [Server.Kill] loses no acknowledged data; a
// power failure would.
//
// # Cleanup
//
// A server leaves nothing behind. Each server has a supervisor, a small process that ends
// the server and removes its folder when [Server.Close] is called, or when the process
// that called [Start] ends for any reason.
package postgres
