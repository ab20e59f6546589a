package postgres

import (
	"context"
	"testing"
	"time"
)

// databaseLimit is how long making and dropping a database may take.
const databaseLimit = time.Minute

// New starts a server for a test, or uses the one that the environment names, as Start does. The
// server is closed when the test ends.
func New(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s, err := Start(t.Context(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("cannot close the server: %v", err)
		}
	})
	return s
}

// Database creates an empty database for a test. The database is dropped when the test ends.
func (s *Server) Database(t testing.TB) *Database {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), databaseLimit)
	defer cancel()
	d, err := s.CreateDatabase(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), databaseLimit)
		defer cancel()
		if err := d.Drop(ctx); err != nil {
			t.Error(err)
		}
	})
	return d
}
