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

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/cluster"
	"github.com/trueup-go/trueup/test/demo/story"
	"github.com/trueup-go/trueup/test/e2e/operator"
	"github.com/trueup-go/trueup/test/postgres"
)

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared))
}

// define is for all, as the demo does it.
var define = sync.OnceValue(func() error {
	return operator.Define(context.Background(), shared, "application", "reversewordsapp", "postgreswriter")
})

var application = sync.OnceValues(func() (*operator.Operator, error) { return install("application") })

var reverseWordsApp = sync.OnceValues(func() (*operator.Operator, error) { return install("reversewordsapp") })

var postgresWriter = sync.OnceValues(func() (*operator.Operator, error) { return install("postgreswriter") })

func install(name string) (*operator.Operator, error) {
	if err := define(); err != nil {
		return nil, err
	}
	return operator.Install(context.Background(), shared, name)
}

func TestApplication(t *testing.T) {
	installed, process := start(t, application)
	var out bytes.Buffer
	require.NoError(t, story.Application(t.Context(), stage(t, &out, installed, process, time.Minute)), "%s", &out)
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

func TestReverseWordsApp(t *testing.T) {
	installed, process := start(t, reverseWordsApp)
	var out bytes.Buffer
	require.NoError(t, story.ReverseWordsApp(t.Context(), stage(t, &out, installed, process, time.Minute)), "%s", &out)
	for _, line := range []string{
		"Ready     False Progressing, then True Available\n",
		"False ImagePullBackOff\n",
		"requests  0, reads and dry runs included\n",
		"False Terminating\n",
		"1 delete deployments, 1 delete services,",
	} {
		require.Contains(t, out.String(), line)
	}
	require.True(t, strings.HasSuffix(out.String(), "Everything came true.\n"), "%s", &out)
	require.Less(t, strings.Count(out.String(), "\n"), 50, "it is short")
}

func TestPostgresWriter(t *testing.T) {
	server := postgres.New(t)
	database := server.Database(t)
	installed, err := postgresWriter()
	require.NoError(t, err)
	installed.Env = database.Environment()
	_, process := start(t, postgresWriter, "--create-tables", "--check-interval=2s")
	var out bytes.Buffer
	stage := stage(t, &out, installed, process, time.Minute)
	stage.Namespace = "default" // as the sample has it
	require.NoError(t, story.PostgresWriter(t.Context(), stage, server, database), "%s", &out)
	lines := []string{
		"row       default/sample-student: alex, 23, canada, ",
		"requests  1 patch postgreswriters, 1 patch postgreswriters/status\n",
		"row       back after ",
		"requests  0, reads and dry runs included\n",
		"database  0 statements that write, by its own statistics\n",
		"row       none\n",
	}
	if os.Getenv("PSQL_HOST") == "" { // a server of somebody else's is not stopped
		lines = append(lines, "Ready     False, DatabaseUnavailable: the database", "row       default/sample-student: alex, 24, norway, ")
	}
	for _, line := range lines {
		require.Contains(t, out.String(), line)
	}
	require.True(t, strings.HasSuffix(out.String(), "Everything came true.\n"), "%s", &out)
	require.Less(t, strings.Count(out.String(), "\n"), 50, "it is short")
}

func TestWithoutAnOperator(t *testing.T) {
	installed, err := application()
	require.NoError(t, err)
	var out bytes.Buffer
	err = story.Application(t.Context(), stage(t, &out, installed, nil, time.Second))
	require.ErrorContains(t, err, "expected a Secret, a Deployment and a Service; seen: no Secret, no Deployment, no Service")
	require.NotContains(t, out.String(), "came true")
}

func TestOperatorThatEndsBeforeSomebodyScales(t *testing.T) {
	installed, process := start(t, application)
	out := &listener{word: "kubectl scale", do: func() { require.NoError(t, process.Stop()) }}
	err := story.Application(t.Context(), stage(t, out, installed, process, 5*time.Second))
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

func stage(t *testing.T, out io.Writer, installed *operator.Operator, process *operator.Process, patience time.Duration) story.Stage {
	t.Helper()
	return story.Stage{
		Out: out, Cluster: shared, Operator: installed, Process: process, Namespace: shared.Namespace(t), Patience: patience,
	}
}

func start(
	t *testing.T, installation func() (*operator.Operator, error), args ...string,
) (*operator.Operator, *operator.Process) {
	t.Helper()
	installed, err := installation()
	require.NoError(t, err)
	process, err := installed.Start(t.Context(), args...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, process.Stop()) })
	return installed, process
}
