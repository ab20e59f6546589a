package database_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
)

const password = "p'a\\ss word"

var complete = map[string]string{
	"PSQL_HOST": "db.example.com", "PSQL_PORT": "5433", "PSQL_DBNAME": "school", "PSQL_USER": "writer", "PSQL_PASSWORD": password,
}

func environment(changes map[string]string) func(string) string {
	variables := maps.Clone(complete)
	maps.Copy(variables, changes)
	return func(name string) string { return variables[name] }
}

func TestFromEnvironment(t *testing.T) {
	settings, err := database.FromEnvironment(environment(nil))
	require.NoError(t, err)
	require.Equal(t, "db.example.com", settings.Host)
	require.Equal(t, uint16(5433), settings.Port)
	require.Equal(t, "school", settings.Name)
	require.Equal(t, "writer", settings.User)
	require.Equal(t, "prefer", settings.SSLMode)
}

func TestFromAnIncompleteEnvironment(t *testing.T) {
	for variable := range complete {
		_, err := database.FromEnvironment(environment(map[string]string{variable: ""}))
		require.EqualError(t, err, "the environment's "+variable+" is missing")
	}
	for _, port := range []string{"0", "65536", "-1", "5432x", " 5432"} {
		_, err := database.FromEnvironment(environment(map[string]string{"PSQL_PORT": port}))
		require.EqualError(t, err, fmt.Sprintf("the environment's PSQL_PORT is %q: not a port, 1 to 65535", port))
	}
	_, err := database.FromEnvironment(environment(map[string]string{"PSQL_SSLMODE": "on"}))
	require.EqualError(t, err, `the environment's PSQL_SSLMODE is "on": not one of prefer, disable, allow, require, verify-ca, verify-full`)

	_, err = database.FromEnvironment(func(string) string { return "" })
	require.ErrorContains(t, err, "PSQL_HOST")
	require.ErrorContains(t, err, "PSQL_PASSWORD", "the error names all variables")
}

func TestSettingsDoNotPrintThePassword(t *testing.T) {
	settings, err := database.FromEnvironment(environment(nil))
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		text := fmt.Sprintf(verb, settings)
		require.Equal(t, `database "school" at db.example.com:5433 as "writer"`, text)
		require.NotContains(t, fmt.Sprintf(verb, &settings), "ss word")
	}
}

func TestOpenUsesSettings(t *testing.T) {
	t.Setenv("PGPASSWORD", "another")
	t.Setenv("PGHOST", "elsewhere")
	t.Setenv("PGOPTIONS", "-c search_path=other")
	for _, changes := range []map[string]string{
		nil,
		{"PSQL_HOST": "/var/run/it's here"},
		{"PSQL_HOST": "::1", "PSQL_DBNAME": `a b'c\d`, "PSQL_USER": "x=y z"},
		{"PSQL_SSLMODE": "verify-full"},
	} {
		settings, err := database.FromEnvironment(environment(changes))
		require.NoError(t, err)
		pool, err := database.Open(t.Context(), settings, "operator", 3)
		require.NoError(t, err, "%v", changes)
		config := pool.Config()
		pool.Close()
		require.Equal(t, settings.Host, config.ConnConfig.Host)
		require.Equal(t, settings.Port, config.ConnConfig.Port)
		require.Equal(t, settings.Name, config.ConnConfig.Database)
		require.Equal(t, settings.User, config.ConnConfig.User)
		require.Equal(t, password, config.ConnConfig.Password)
		require.Equal(t, map[string]string{
			"application_name": "operator", "client_encoding": "UTF8", "options": "-c search_path=other",
		}, config.ConnConfig.RuntimeParams)
		require.Equal(t, int32(3), config.MaxConns)
		require.NotContains(t, config.ConnString(), "ss word")
	}
}

func TestOpenRefusesFiles(t *testing.T) {
	for file, says := range map[string]string{"ca.crt": "unable to add CA to cert pool", "tls.crt": `both "sslcert" and "sslkey" are required`} {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte("no certificate"), 0o600))
		settings, err := database.FromEnvironment(environment(map[string]string{"PSQL_SSLMODE": "require", "PSQL_CREDENTIALS": folder}))
		require.NoError(t, err)
		_, err = database.Open(t.Context(), settings, "operator", 3)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "ss word")
	}
}

func TestOpenRefusesAMissingFolder(t *testing.T) {
	settings, err := database.FromEnvironment(environment(map[string]string{"PSQL_CREDENTIALS": filepath.Join(t.TempDir(), "missing")}))
	require.NoError(t, err)
	_, err = database.Open(t.Context(), settings, "operator", 3)
	require.ErrorContains(t, err, "the environment's PSQL_CREDENTIALS: ")
	require.ErrorContains(t, err, "no such file or directory")
}

func TestOpenReadsFiles(t *testing.T) {
	folder := t.TempDir()
	settings, err := database.FromEnvironment(environment(map[string]string{"PSQL_CREDENTIALS": folder}))
	require.NoError(t, err)
	pool, err := database.Open(t.Context(), settings, "operator", 3)
	require.NoError(t, err)
	defer pool.Close()
	config := pool.Config()
	for content, want := range map[string]string{"": "", "new": "new", "line\n": "line", "line\r\n": "line", "a b": "a b"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "password"), []byte(content), 0o600))
		conn := config.ConnConfig.Copy()
		require.NoError(t, config.BeforeConnect(t.Context(), conn))
		require.Equal(t, want, conn.Password)
	}
	require.NoError(t, os.Remove(filepath.Join(folder, "password")))
	require.NoError(t, config.BeforeConnect(t.Context(), config.ConnConfig))
	require.Equal(t, password, config.ConnConfig.Password, "without the file, that of the environment counts")
}
