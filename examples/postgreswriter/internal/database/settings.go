// Package database reads and writes the rows of PostgresWriters.
package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout is the timeout of a new connection.
	connectTimeout = 5 * time.Second
	// idleTimeout is the time after which an idle connection is closed.
	idleTimeout = 5 * time.Minute
)

// sslModes are the modes of libpq. The first one is the default.
var sslModes = []string{"prefer", "disable", "allow", "require", "verify-ca", "verify-full"}

// Settings identify a database. The formatting verbs of package fmt do not print the password.
type Settings struct {
	Host     string
	Port     uint16
	Name     string
	User     string
	password string
	SSLMode  string
	// Credentials is a folder with files that are read for each new connection; empty if there is none.
	Credentials string
}

// The files in the folder of credentials, with the keys of a Secret. Each is optional.
const (
	passwordFile    = "password"
	authorityFile   = "ca.crt"
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// FromEnvironment reads the required variables PSQL_HOST, PSQL_PORT, PSQL_DBNAME, PSQL_USER and
// PSQL_PASSWORD, and the optional variables PSQL_SSLMODE and PSQL_CREDENTIALS. The error names each variable that is
// missing or invalid.
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

		Credentials: getenv("PSQL_CREDENTIALS"),
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

// String returns the settings without the password and the SSL mode.
func (s Settings) String() string {
	return fmt.Sprintf("database %q at %s:%d as %q", s.Name, s.Host, s.Port, s.User)
}

// GoString returns the same as String, so that %#v does not print the password.
func (s Settings) GoString() string { return s.String() }

// pool returns the configuration of pgx. For each new connection, the pool reads the files of credentials again, so that
// a new password or certificate needs no restart.
func (s Settings) pool(application string, connections int32) (*pgxpool.Config, error) {
	config, err := s.parse()
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", s, err)
	}
	config.MaxConns = connections
	config.MaxConnIdleTime = idleTimeout
	conn := config.ConnConfig
	conn.ConnectTimeout = connectTimeout
	conn.RuntimeParams["application_name"] = application
	conn.RuntimeParams["client_encoding"] = "UTF8" // the database or the user may have another
	// Without prepared statements, a statement takes one round trip, tables may be dropped and created
	// again, and connections may use a pooler.
	conn.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.BeforeConnect = func(_ context.Context, conn *pgx.ConnConfig) error {
		fresh, err := s.parse()
		if err != nil {
			return &Error{Reason: Unavailable, Message: "the files in the folder of PSQL_CREDENTIALS cannot be used", cause: err}
		}
		conn.Password, conn.TLSConfig, conn.Fallbacks = fresh.ConnConfig.Password, fresh.ConnConfig.TLSConfig, fresh.ConnConfig.Fallbacks
		return nil
	}
	return config, nil
}

// parse returns the settings with the contents of the files, and with the environment variables of libpq that concern other
// settings, such as PGSSLROOTCERT and PGOPTIONS. The password is not in the connection string, since errors quote the
// string.
func (s Settings) parse() (*pgxpool.Config, error) {
	parameters := []string{
		"sslmode=" + s.SSLMode, "host=" + quoted(s.Host), "port=" + strconv.Itoa(int(s.Port)),
		"dbname=" + quoted(s.Name), "user=" + quoted(s.User), "password=none",
	}
	for file, parameter := range map[string]string{authorityFile: "sslrootcert", certificateFile: "sslcert", keyFile: "sslkey"} {
		if path := s.path(file); path != "" {
			parameters = append(parameters, parameter+"="+quoted(path))
		}
	}
	config, err := pgxpool.ParseConfig(strings.Join(parameters, " "))
	if err != nil {
		return nil, err
	}
	if s.Credentials != "" {
		if _, err := os.Stat(s.Credentials); err != nil {
			return nil, fmt.Errorf("the environment's PSQL_CREDENTIALS: %w", err)
		}
	}
	config.ConnConfig.Password = s.password
	if path := s.path(passwordFile); path != "" {
		password, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		config.ConnConfig.Password = strings.TrimRight(string(password), "\r\n")
	}
	return config, nil
}

// path returns the path of a file in the folder of credentials, or "" if there is no such file.
func (s Settings) path(file string) string {
	if s.Credentials == "" {
		return ""
	}
	path := filepath.Join(s.Credentials, file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// quoted returns value with quotes for a connection string.
func quoted(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}
