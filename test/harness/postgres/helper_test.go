package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/postgres"
	"github.com/trueup-go/trueup/test/harness/postgres/internal/programs"
)

const (
	// limit is how long a test waits for anything.
	limit = time.Minute
	// tick is the time between two looks.
	tick = 20 * time.Millisecond
)

// helperVariable names the helper that a copy of the test binary runs instead of tests.
const helperVariable = "TRUEUP_POSTGRES_TEST_HELPER"

// helpers are the functions that such a copy can run; each returns the exit code.
var helpers = map[string]func() int{
	// start starts a server, prints a message and waits to be killed.
	"start": func() int {
		return serve(func(*postgres.Server) error { return nil })
	},
	// freeze does so with a server that is frozen.
	"freeze": func() int {
		return serve((*postgres.Server).Freeze)
	},
	// exhaust freezes a server that is about to refuse connections, each in a process.
	"exhaust": func() int {
		return serve(func(s *postgres.Server) error { return errors.Join(exhaustConnections(s), s.Freeze()) },
			postgres.Setting("max_connections", "1"), postgres.Setting("superuser_reserved_connections", "0"),
			postgres.Setting("max_wal_senders", "0"))
	},
	// up starts the user's local server and prints its variables.
	"up": func() int {
		variables, err := postgres.Up(context.Background())
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Print(strings.Join(variables, "\n"))
		return 0
	},
}

// excessConnections are more connections than the server permits. The server has a process for each, which waits for
// the client's first message before it refuses the connection.
var excessConnections [50]net.Conn

// exhaustConnections opens them and waits for their processes.
func exhaustConnections(s *postgres.Server) (err error) {
	for i := range excessConnections {
		address := net.JoinHostPort("127.0.0.1", variables(s.Environment())["PSQL_PORT"])
		if excessConnections[i], err = net.Dial("tcp", address); err != nil { //nolint:noctx // it stays open
			return err
		}
	}
	deadline := time.After(limit)
	for {
		if found, err := findIn(os.Getenv("TMPDIR")); err != nil || len(found) > len(excessConnections) {
			return err
		}
		select {
		case <-time.After(tick):
		case <-deadline:
			return errors.New("the server does not accept the connections")
		}
	}
}

func serve(prepare func(*postgres.Server) error, settings ...postgres.Option) int {
	s, err := postgres.Start(context.Background(), settings...)
	if err == nil {
		err = prepare(s)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 1
}

// named is set if the environment of the tests names a server.
var named = os.Getenv("PSQL_HOST") != ""

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVariable); name != "" {
		os.Exit(helpers[name]())
	}
	os.Exit(m.Run())
}

// alone prepares a test with servers of its own: it removes the variables that name a server, and
// returns the folder that will contain the servers' folders. The test is skipped with -short, and if the
// environment named a server, for tests without PostgreSQL's programs.
func alone(t *testing.T) string {
	t.Helper()
	longform.Only(t)
	t.Setenv("PSQL_HOST", "")
	if _, err := programs.Find(t.Context()); err != nil && named && !programs.Installable() {
		t.Skip(err)
	}
	temp := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(temp), 0o711), "where root's servers, which are another's, must get through")
	t.Setenv("TMPDIR", temp)
	return temp
}

// helper prepares a copy of this process.
func helper(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append(env, helperVariable+"="+name)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// startHelper starts a helper that waits to be killed, and returns when the helper is ready.
func startHelper(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	cmd := helper(t, name)
	_, err := cmd.StdinPipe() // open as long as this process lives
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "started\n", line)
	return cmd
}

// processesIn lists the processes whose working directory is below dir. Every process of a server
// works in the server's folder, and the kernel still names a removed folder.
func processesIn(t *testing.T, dir string) []int {
	t.Helper()
	found, err := findIn(dir)
	require.NoError(t, err)
	return found
}

func findIn(dir string) (processes []int, err error) {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(cwd, dir) {
			continue // the process is gone, or another's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			return nil, err
		}
		processes = append(processes, pid)
	}
	return processes, nil
}

// requireNothingIn waits until no process works in dir and dir is empty.
func requireNothingIn(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(processesIn(t, dir)) == 0 && isEmpty(t, dir) }, limit, tick)
}

func isEmpty(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	return len(entries) == 0
}
