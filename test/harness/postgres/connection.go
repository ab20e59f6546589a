package postgres

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5"
)

// The variables that name a database: those that an operator reads, and those that name a server to
// use instead of a fresh one.
const (
	hostVariable     = "PSQL_HOST"
	portVariable     = "PSQL_PORT"
	databaseVariable = "PSQL_DBNAME"
	userVariable     = "PSQL_USER"
	passwordVariable = "PSQL_PASSWORD"
	sslModeVariable  = "PSQL_SSLMODE"
)

// A connection describes how to reach a database.
type connection struct {
	host, port, database, user, password string
	// sslMode may be empty: the client's default.
	sslMode string
}

// fromEnvironment returns the database that the environment names; given is false if it names none.
func fromEnvironment() (c connection, given bool, err error) {
	if os.Getenv(hostVariable) == "" {
		return connection{}, false, nil
	}
	for name, value := range map[string]*string{
		hostVariable:     &c.host,
		portVariable:     &c.port,
		databaseVariable: &c.database,
		userVariable:     &c.user,
		passwordVariable: &c.password,
	} {
		var set bool
		if *value, set = os.LookupEnv(name); !set {
			return connection{}, false, fmt.Errorf("%s is set, but %s is not", hostVariable, name)
		}
	}
	c.sslMode = os.Getenv(sslModeVariable)
	return c, true, nil
}

// environment names the database to an operator.
func (c connection) environment() []string {
	variables := []string{
		hostVariable + "=" + c.host,
		portVariable + "=" + c.port,
		databaseVariable + "=" + c.database,
		userVariable + "=" + c.user,
		passwordVariable + "=" + c.password,
	}
	if c.sslMode != "" {
		variables = append(variables, sslModeVariable+"="+c.sslMode)
	}
	return variables
}

// to is another database of the same server.
func (c connection) to(database string) connection {
	c.database = database
	return c
}

func (c connection) url() string {
	address := url.URL{
		Scheme: "postgres",
		User:   url.UserPassword(c.user, c.password),
		Host:   net.JoinHostPort(c.host, c.port),
		Path:   "/" + c.database,
	}
	if c.sslMode != "" {
		address.RawQuery = url.Values{"sslmode": {c.sslMode}}.Encode()
	}
	return address.String()
}

// with connects, does something and disconnects.
func (c connection) with(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, c.url())
	if err != nil {
		return fmt.Errorf("cannot connect to PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing is left to be said
	return do(conn)
}
