// Package programs finds the programs of a PostgreSQL server, or installs them.
package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Set is where the programs of one version are.
type Set struct {
	Initdb   string
	Postgres string
	// Statistics is set if the module pg_stat_statements is available.
	Statistics bool
}

// ErrMissing names the package to install.
var ErrMissing = errors.New("cannot find the programs of a PostgreSQL server, initdb and postgres: " +
	"install them (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server postgresql-contrib; " +
	"Homebrew: brew install postgresql), or name a server that runs by PSQL_HOST, PSQL_PORT, PSQL_DBNAME, PSQL_USER and PSQL_PASSWORD")

// places are the folders of distributions and Homebrew that are not on PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",                      // Debian, Ubuntu
	"/usr/pgsql-*/bin",                               // Red Hat and its kin, from PostgreSQL's own packages
	"/usr/libexec/postgresql*",                       // Alpine
	"/opt/homebrew/opt/postgresql*/bin",              // Homebrew, on macOS with Apple's processors,
	"/usr/local/opt/postgresql*/bin",                 // with Intel's,
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin", // and on Linux
}

// Find returns the first available programs: on PATH, where pg_config says, and in the usual
// places, the newest version of each first.
func Find(ctx context.Context) (Set, error) {
	return find(ctx, places)
}

// In returns the programs in a folder.
func In(folder string) (Set, error) {
	set, there := in(folder)
	if !there {
		return Set{}, fmt.Errorf("nothing in %s: %w", folder, ErrMissing)
	}
	return set, nil
}

func find(ctx context.Context, places []string) (Set, error) {
	for _, folder := range slices.Concat(onPath(), configured(ctx), newestFirst(places)) {
		if set, there := in(folder); there {
			return set, nil
		}
	}
	return Set{}, ErrMissing
}

func in(folder string) (Set, bool) {
	set := Set{Initdb: filepath.Join(folder, "initdb"), Postgres: filepath.Join(folder, "postgres")}
	for _, path := range []string{set.Initdb, set.Postgres} {
		if _, err := exec.LookPath(path); err != nil {
			return Set{}, false
		}
	}
	// The folder lib or lib64 is beside bin; packages may have a folder of their own in it.
	for _, libraries := range []string{"lib*", "lib*/postgresql*", "lib*/pgsql*"} {
		modules, err := filepath.Glob(filepath.Join(filepath.Dir(folder), libraries, "pg_stat_statements.*"))
		set.Statistics = set.Statistics || err == nil && len(modules) > 0
	}
	return set, true
}

// onPath returns the folder of the program postgres on PATH, which may be a link to the
// installation.
func onPath() []string {
	path, err := exec.LookPath("postgres")
	if err != nil {
		return nil
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	return []string{filepath.Dir(path)}
}

// configured returns the folder that pg_config names, if it exists. pg_config belongs to the
// libraries, and the folder may therefore lack a server.
func configured(ctx context.Context) []string {
	output, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output()
	if err != nil {
		return nil
	}
	return []string{strings.TrimSpace(string(output))}
}

// newestFirst are the folders that match the patterns, in order, and by version where
// several match one.
func newestFirst(patterns []string) []string {
	var folders []string
	for _, pattern := range patterns {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		prefix, _, _ := strings.Cut(pattern, "*")
		slices.SortStableFunc(matches, func(a, b string) int { return version(b[len(prefix):]) - version(a[len(prefix):]) })
		folders = append(folders, matches...)
	}
	return folders
}

var digits = regexp.MustCompile(`\d+`)

// version returns the first number in a name, or 0.
func version(name string) int {
	number, err := strconv.Atoi(digits.FindString(name))
	if err != nil {
		return 0
	}
	return number
}

// Installable reports whether Install may be tried: by root, where there is apt-get.
func Installable() bool {
	_, err := exec.LookPath("apt-get")
	return err == nil && os.Getuid() == 0
}

// Install installs the distribution's package, and reports this.
//
// The package's scripts would also create and start a server with pg_createcluster. They find a
// program of this name that does nothing: apt searches a folder of ours first. Therefore no server
// runs afterwards, and the machine's settings are unchanged, in contrast to a policy or a change of
// createcluster.conf.
func Install(ctx context.Context, progress io.Writer) error {
	stubs, err := os.MkdirTemp("", "trueup-install-")
	if err != nil {
		return fmt.Errorf("cannot install PostgreSQL: %w", err)
	}
	defer func() { _ = os.RemoveAll(stubs) }() // a link in a temporary folder
	if err := os.Symlink("/bin/true", filepath.Join(stubs, "pg_createcluster")); err != nil {
		return fmt.Errorf("cannot install PostgreSQL: %w", err)
	}
	fmt.Fprintln(progress, "installing PostgreSQL with apt-get")
	for _, args := range [][]string{
		{"update"},
		{"install", "--yes", "--no-install-recommends", "-o", "DPkg::Path=" + stubs + ":/usr/sbin:/usr/bin:/sbin:/bin", "postgresql"},
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot install PostgreSQL: apt-get %s: %w\n%s", args[0], err, output)
		}
	}
	return nil
}
