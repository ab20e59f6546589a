// Package postgres runs a throwaway PostgreSQL server for tests: real server
// processes that listen on 127.0.0.1 only, ask for a password, and can be
// stopped, killed, frozen and started again. Starting one takes a second, and
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
// # A server of one's own
//
// If PSQL_HOST, PSQL_PORT, PSQL_DBNAME, PSQL_USER, PSQL_PASSWORD and, if need be,
// PSQL_SSLMODE are set, the server that they name is used in place of a fresh one.
// Its user must be allowed to create databases. All that is made there is databases,
// dropped when their tests end. What only the owner of a server can do is refused
// there with an error that wraps [errors.ErrUnsupported]; a test that needs it is
// skipped, with that error as its reason.
//
// # The programs
//
// A server's programs are looked for on PATH, where pg_config says, and where
// distributions and Homebrew put them; of several versions, the newest is taken. If
// there are none, and this process is root's and has apt-get, it installs the
// distribution's package, without the server that this package would start. PostgreSQL
// refuses to run as root: then it runs as the user postgres or, if there is none, nobody.
//
// # What survives
//
// A server writes to the operating system what it acknowledges, before it does so, but
// does not wait for the disk. So [Server.Kill] loses nothing that was acknowledged; a
// power failure would.
//
// # What it leaves behind
//
// Nothing. Each server has a janitor, a small process that ends the server and
// removes its folder when [Server.Close] is called, or when the process that called
// [Start] ends, however it ends.
package postgres
