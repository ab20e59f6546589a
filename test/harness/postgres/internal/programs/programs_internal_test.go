package programs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindTakesPathFirstThenTheNewest(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"9.6", "15", "16", "17"} {
		install(t, filepath.Join(root, version, "bin"), "initdb", "postgres")
	}
	require.NoError(t, os.Remove(filepath.Join(root, "17", "bin", "initdb")), "a client of a newer version")
	t.Setenv("PATH", "")
	found, err := find(t.Context(), []string{filepath.Join(root, "none"), filepath.Join(root, "*", "bin")})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "16", "bin", "postgres"), found.Postgres)
	require.Equal(t, filepath.Join(root, "16", "bin", "initdb"), found.Initdb)

	links := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(root, "15", "bin", "postgres"), filepath.Join(links, "postgres")))
	t.Setenv("PATH", links)
	found, err = find(t.Context(), []string{filepath.Join(root, "*", "bin")})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "15", "bin", "initdb"), found.Initdb)
}

func TestFindAsksPgConfig(t *testing.T) {
	root := t.TempDir()
	install(t, filepath.Join(root, "bin"), "initdb", "postgres")
	path := t.TempDir()
	script := "#!/bin/sh\n[ \"$*\" = --bindir ] && echo " + filepath.Join(root, "bin") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(path, "pg_config"), []byte(script), 0o755))
	t.Setenv("PATH", path)
	found, err := find(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, Set{Initdb: filepath.Join(root, "bin", "initdb"), Postgres: filepath.Join(root, "bin", "postgres")}, found)
}

func TestFindNothing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := find(t.Context(), nil)
	require.ErrorIs(t, err, ErrMissing)
	require.False(t, Installable(), "there is no apt-get")
}

func TestStatisticsAreFound(t *testing.T) {
	for _, libraries := range []string{"lib", "lib/postgresql", "lib64/pgsql"} {
		root := t.TempDir()
		install(t, filepath.Join(root, "bin"), "initdb", "postgres")
		install(t, filepath.Join(root, libraries), "pg_stat_statements.so")
		found, err := In(filepath.Join(root, "bin"))
		require.NoError(t, err)
		require.True(t, found.Statistics, libraries)
	}
}

// install creates programs that do nothing.
func install(t *testing.T, folder string, names ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"), 0o755))
	}
}
