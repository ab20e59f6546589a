package story_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/cluster"
	"github.com/trueup-go/trueup/test/demo/story"
	"github.com/trueup-go/trueup/test/e2e/operator"
)

var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m, &shared)) }

var install = sync.OnceValues(func() (*operator.Operator, error) {
	return operator.Install(context.Background(), shared, "application")
})

func TestToldToTheEnd(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, newStory(t, &out, start(t), time.Minute).Tell(t.Context()), "%s", &out)
	for _, line := range []string{
		"operator  updated Deployment, Drifted: spec.replicas 5 -> 1",
		"operator  created Service, Missing",
		"operator  updated Service, Drifted: spec.ports",
		"seen      the label team=blue, still there",
		"requests  0, reads and dry runs included",
	} {
		require.Contains(t, out.String(), line)
	}
	require.Regexp(t, `requests  \d+ patch applications/status, 1 patch deployments\n`, out.String())
	require.Regexp(t, `operator  1\d reconciles`, out.String(), "ten, and maybe one that something else woke")
	require.True(t, strings.HasSuffix(out.String(), "Everything came true.\n"), "%s", &out)
	require.Less(t, strings.Count(out.String(), "\n"), 60, "it is short")
}

func TestWithoutAnOperator(t *testing.T) {
	var out bytes.Buffer
	err := newStory(t, &out, nil, time.Second).Tell(t.Context())
	require.ErrorContains(t, err, "expected a Secret, a Deployment and a Service; seen: no Secret, no Deployment, no Service")
	require.NotContains(t, out.String(), "came true")
}

func TestOperatorThatEndsBeforeSomebodyScales(t *testing.T) {
	process := start(t)
	out := &listener{word: "kubectl scale", do: func() { require.NoError(t, process.Stop()) }}
	err := newStory(t, out, process, 5*time.Second).Tell(t.Context())
	require.ErrorContains(t, err, "expected 5 replicas to be 1 again; seen: 5 replicas")
	require.Contains(t, out.String(), "2. ")
	require.NotContains(t, out.String(), "3. ")
}

// listener does something when it hears a word.
type listener struct {
	bytes.Buffer
	word string
	do   func()
}

func (l *listener) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(l.word)) {
		l.do()
	}
	return l.Buffer.Write(p)
}

func newStory(t *testing.T, out io.Writer, process *operator.Process, patience time.Duration) *story.Story {
	t.Helper()
	installed, err := install()
	require.NoError(t, err)
	return &story.Story{
		Out: out, Cluster: shared, Operator: installed, Process: process, Namespace: shared.Namespace(t), Patience: patience,
	}
}

func start(t *testing.T) *operator.Process {
	t.Helper()
	installed, err := install()
	require.NoError(t, err)
	process, err := installed.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, process.Stop()) })
	return process
}
