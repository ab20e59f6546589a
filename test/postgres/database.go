package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Database is a database of its own on a server, which may have others.
type Database struct {
	// Name is the database's.
	Name string
	// Pool connects to it, as the user of Environment.
	Pool *pgxpool.Pool

	server *Server
	at     connection
}

// CreateDatabase creates an empty database of a fresh name. It stays until Drop is called.
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

// Drop drops the database, whoever still uses it, and closes the pool. On a server that
// is stopped, killed or frozen the database stays, to go with the server.
func (d *Database) Drop(ctx context.Context) error {
	if d.server.runs() {
		if err := d.server.administer(ctx, "DROP DATABASE "+d.Name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("cannot drop database %s: %w", d.Name, err)
		}
	}
	d.Pool.Close()
	return nil
}

// Environment names the database in the variables PSQL_HOST, PSQL_PORT, PSQL_DBNAME,
// PSQL_USER, PSQL_PASSWORD and, if the server wants it, PSQL_SSLMODE, as os/exec takes
// them.
func (d *Database) Environment() []string {
	return d.at.environment()
}

// administer sends one statement to the database that others are made from.
func (s *Server) administer(ctx context.Context, statement string) error {
	return s.admin.with(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}
