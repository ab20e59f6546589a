package cluster_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

func TestStopLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, err := cluster.Start(t.Context())
	require.NoError(t, err)
	require.Len(t, processesIn(t, c.Dir()), 6, "the supervisor and five components")

	require.NoError(t, c.Stop())
	require.NoError(t, c.Stop(), "it may be called again")
	requireNothingLeft(t, c.Dir())
	requireEmpty(t, os.Getenv("TMPDIR"))
	server, err := url.Parse(c.Config().Host)
	require.NoError(t, err)
	_, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Host)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestKilledOwnerLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	cmd, firstLine := startHelper(t, "start", "TMPDIR="+temp)
	dir := firstLine()
	require.Len(t, processesIn(t, dir), 6)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return len(processesIn(t, dir)) == 0 && isEmpty(t, temp) }, limit, tick)
}

func TestOwnerKilledDuringStartLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	cmd, _ := startHelper(t, "start", "TMPDIR="+temp)
	require.Eventually(t, func() bool { return len(processesIn(t, temp)) >= 2 }, limit, tick, "a component runs")

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return len(processesIn(t, temp)) == 0 && isEmpty(t, temp) }, limit, tick)
}

func TestKilledSupervisorTakesTheComponentsWithIt(t *testing.T) {
	c, err := cluster.Start(t.Context())
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(processOf(t, c, "supervisor"), syscall.SIGKILL))
	require.Eventually(t, func() bool { return len(processesIn(t, c.Dir())) == 0 }, limit, tick)
	require.Error(t, c.Stop())
	requireNothingLeft(t, c.Dir())
}

func TestComponentThatDiesAtStartIsAnErrorWithItsLog(t *testing.T) {
	for _, component := range components {
		t.Run(string(component), func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			_, err := cluster.Start(t.Context(), cluster.Flags(component, "--no-such-flag"))
			require.ErrorContains(t, err, string(component)+" ended: exit status")
			require.ErrorContains(t, err, "no-such-flag", "the end of its log")
			kept := regexp.MustCompile(`logs are in (\S+)`).FindStringSubmatch(err.Error())
			require.Len(t, kept, 2, "%v", err)
			require.FileExists(t, filepath.Join(kept[1], string(component)+".log"))
			require.NoError(t, os.RemoveAll(kept[1]))
			requireEmpty(t, temp)
		})
	}
}

func TestComponentThatDiesLaterIsToldByStop(t *testing.T) {
	c, err := cluster.Start(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Kill(cluster.Scheduler), "an end that is no error")
	require.NoError(t, c.Restart(t.Context(), cluster.Scheduler))
	require.NoError(t, syscall.Kill(processOf(t, c, "kwok"), syscall.SIGKILL))
	require.Eventually(t, func() bool {
		log, err := os.ReadFile(filepath.Join(c.Dir(), "logs", "supervisor.log"))
		require.NoError(t, err)
		return strings.Contains(string(log), "kwok: signal: killed\n")
	}, limit, tick)
	require.Len(t, processesIn(t, c.Dir()), 5)
	require.ErrorContains(t, c.Restart(t.Context(), cluster.Kwok), "cannot restart kwok: kwok ended: signal: killed")
	require.ErrorContains(t, c.Stop(), "kwok ended: signal: killed")
	requireNothingLeft(t, c.Dir())
}

func TestComponentThatDiesWhenItIsRestartedIsAnError(t *testing.T) {
	c, err := cluster.Start(t.Context())
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(c.Dir(), "kube-scheduler.kubeconfig")))
	require.ErrorContains(t, c.Restart(t.Context(), cluster.Scheduler), "cannot restart kube-scheduler: kube-scheduler ended: exit status")
	require.ErrorContains(t, c.Stop(), "kube-scheduler ended: exit status")
	requireNothingLeft(t, c.Dir())
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	_, err := cluster.Start(ctx)
	require.ErrorIs(t, err, enough)
	require.Empty(t, processesIn(t, temp))
	requireEmpty(t, temp)
}

func requireNothingLeft(t *testing.T, dir string) {
	t.Helper()
	require.Empty(t, processesIn(t, dir))
	require.NoDirExists(t, dir)
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// isEmpty also returns false while a process removes the content of dir.
func isEmpty(t *testing.T, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	require.NoError(t, err)
	return len(entries) == 0
}
