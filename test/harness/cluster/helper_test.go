package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// helperVariable names the helper that a copy of the test binary runs instead of tests.
const helperVariable = "TRUEUP_CLUSTER_TEST_HELPER"

// helpers are the functions that such a copy can run; each returns the exit code.
var helpers = map[string]func() int{
	// start starts a cluster, prints its folder and waits to be killed.
	"start": func() int {
		c, err := cluster.Start(context.Background())
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(c.Dir())
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 1
	},
	// up starts the user's local cluster and prints its kubeconfig's path.
	"up": func() int {
		kubeconfig, err := cluster.Up(context.Background())
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(kubeconfig)
		return 0
	},
}

// helper prepares a copy of this process.
func helper(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append(env, helperVariable+"="+name)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// startHelper starts one that waits to be killed.
func startHelper(t *testing.T, name string, env ...string) (cmd *exec.Cmd, firstLine func() string) {
	t.Helper()
	cmd = helper(t, name, env...)
	_, err := cmd.StdinPipe() // open as long as this process lives
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, func() string {
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSpace(line)
	}
}

// processesIn lists the processes whose working directory is below dir, by
// program. Every process of a cluster works in the cluster's folder, and the
// kernel goes on to name a folder that is removed.
func processesIn(t *testing.T, dir string) map[string]int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(t, err)
	found := map[string]int{}
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(cwd, dir) {
			continue // the process is gone, or another's
		}
		var pid int
		_, err = fmt.Sscanf(link, "/proc/%d/cwd", &pid)
		require.NoError(t, err)
		commandLine, err := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		if err != nil {
			continue // gone meanwhile
		}
		program, _, _ := strings.Cut(string(commandLine), "\x00")
		found[program] = pid
	}
	return found
}

// processOf returns the process id of a cluster's program by its name.
func processOf(t *testing.T, c *cluster.Cluster, name string) int {
	t.Helper()
	for program, pid := range processesIn(t, c.Dir()) {
		if filepath.Base(program) == name {
			return pid
		}
	}
	require.Fail(t, "no such process", name)
	return 0
}
