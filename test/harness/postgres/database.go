package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A Database is one database on a server, which may have others.
type Database struct {
	// Name is the database's.
	Name string
	// Pool connects to the database as the user of Environment.
	Pool *pgxpool.Pool

	server *Server
	at     connection
}

// CreateDatabase creates an empty database with a new name. The database exists until Drop.
func (s *Server) CreateDatabase(ctx context.Context) (*Database, error) {
	name := "test_" + strings.ToLower(rand.Text())
	d := &Database{Name: name, server: s, at: s.admin.to(name)}
	if err := s.administer(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, fmt.Errorf("cannot create a database: %w", err)
	}
	pool, err := pgxpool.New(ctx, d.at.url())
	if err != nil {
		return nil, fmt.Errorf("cannot make a pool of connections: %w", err)
	}
	d.Pool = pool
	return d, nil
}

// Drop drops the database, even if it is in use, and closes the pool. On a server that is stopped,
// killed or frozen, the database stays until the server is removed.
func (d *Database) Drop(ctx context.Context) error {
	if d.server.runs() {
		if err := d.server.administer(ctx, "DROP DATABASE "+d.Name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("cannot drop database %s: %w", d.Name, err)
		}
	}
	d.Pool.Close()
	return nil
}

// Environment returns the variables PSQL_HOST, PSQL_PORT, PSQL_DBNAME, PSQL_USER, PSQL_PASSWORD
// and, if the server needs one, PSQL_SSLMODE, in the form of os/exec.
func (d *Database) Environment() []string {
	return d.at.environment()
}

// administer sends one statement to the database from which others are created.
func (s *Server) administer(ctx context.Context, statement string) error {
	return s.admin.with(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}
