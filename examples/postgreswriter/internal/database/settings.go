// Package database writes the rows of PostgresWriters.
package database

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout and idleTimeout bound how long a connection is waited for, and kept
	// without use.
	connectTimeout = 5 * time.Second
	idleTimeout    = 5 * time.Minute
)

// sslModes are libpq's, the default first.
var sslModes = []string{"prefer", "disable", "allow", "require", "verify-ca", "verify-full"}

// Settings identify a database. They print without the password.
type Settings struct {
	Host     string
	Port     uint16
	Name     string
	User     string
	password string
	SSLMode  string
}

// FromEnvironment reads PSQL_HOST, PSQL_PORT, PSQL_DBNAME, PSQL_USER and PSQL_PASSWORD,
// all of which are required, and PSQL_SSLMODE. Its error names each variable that is
// missing or malformed.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	var problems []error
	required := func(variable string) string {
		value := getenv(variable)
		if value == "" {
			problems = append(problems, fmt.Errorf("the environment's %s is missing", variable))
		}
		return value
	}
	s := Settings{
		Host:     required("PSQL_HOST"),
		Name:     required("PSQL_DBNAME"),
		User:     required("PSQL_USER"),
		password: required("PSQL_PASSWORD"),
		SSLMode:  sslModes[0],
	}
	if port := required("PSQL_PORT"); port != "" {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			problems = append(problems, fmt.Errorf("the environment's PSQL_PORT is %q: not a port, 1 to 65535", port))
		}
		s.Port = uint16(number)
	}
	if mode := getenv("PSQL_SSLMODE"); mode != "" {
		if !slices.Contains(sslModes, mode) {
			problems = append(problems, fmt.Errorf("the environment's PSQL_SSLMODE is %q: not one of %s",
				mode, strings.Join(sslModes, ", ")))
		}
		s.SSLMode = mode
	}
	return s, errors.Join(problems...)
}

// String tells all but the password.
func (s Settings) String() string {
	return fmt.Sprintf("database %q at %s:%d as %q", s.Name, s.Host, s.Port, s.User)
}

// GoString is String: no verb prints the password.
func (s Settings) GoString() string { return s.String() }

// pool returns the configuration of pgx. The variables of libpq, such as PGSSLROOTCERT, add other
// settings. The password is not part of the parsed text, so that no error can quote it.
func (s Settings) pool(application string, connections int32) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig("sslmode=" + s.SSLMode + " host=" + quoted(s.Host) + " port=" + strconv.Itoa(int(s.Port)) +
		" dbname=" + quoted(s.Name) + " user=" + quoted(s.User) + " password=none")
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", s, err)
	}
	config.MaxConns = connections
	config.MaxConnIdleTime = idleTimeout
	conn := config.ConnConfig
	conn.Password = s.password
	conn.ConnectTimeout = connectTimeout
	conn.RuntimeParams = map[string]string{"application_name": application}
	// Nothing is prepared: a statement costs one round trip, a table may be dropped and made
	// again, and a connection may go through a pooler.
	conn.DefaultQueryExecMode = pgx.QueryExecModeExec
	return config, nil
}

// quoted is a value of a connection string.
func quoted(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}
