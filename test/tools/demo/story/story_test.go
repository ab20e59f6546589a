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
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/postgres"
	"github.com/trueup-go/trueup/test/harness/storage"
	"github.com/trueup-go/trueup/test/tools/demo/story"
)

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared, cluster.WithStorage()))
}

// define installs the kinds for all tests, as the demo does.
var define = sync.OnceValue(func() error {
	return operator.Define(context.Background(), shared, "application", "reversewordsapp", "site", "bookstore", "postgreswriter")
})

var application = sync.OnceValues(func() (*operator.Operator, error) { return install("application") })

var reverseWordsApp = sync.OnceValues(func() (*operator.Operator, error) { return install("reversewordsapp") })

var site = sync.OnceValues(func() (*operator.Operator, error) { return install("site") })

var bookStore = sync.OnceValues(func() (*operator.Operator, error) { return install("bookstore") })

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
	summary, err := story.Application(t.Context(), newEnv(t, &out, installed, process, time.Minute))
	require.NoError(t, err, "%s", &out)
	requireSummary(t, story.Summary{Operator: "application", Made: 4, What: "object"}, summary)
	for _, line := range []string{
		"operator  updated Deployment, Drifted: spec.replicas 5 -> 1",
		"operator  created Service, Missing",
		"operator  updated Service, Drifted: spec.ports",
		"seen      the label team=blue, still there",
		"Ready     False, ImagePullBackOff: ",
		"seen      the greeting Universe in the Secret",
		"requests  0, reads and dry runs included",
	} {
		require.Contains(t, out.String(), line)
	}
	require.Regexp(t, `requests  \d+ patch applications/status, 1 patch deployments\n`, out.String())
	require.Regexp(t, `operator  1\d reconciles`, out.String(), "ten, and maybe one that something else woke")
	require.True(t, strings.HasSuffix(out.String(), "Everything came true.\n"), "%s", &out)
	require.Less(t, strings.Count(out.String(), "\n"), 80, "it is short")
}

func TestReverseWordsApp(t *testing.T) {
	longform.Only(t)
	installed, process := start(t, reverseWordsApp)
	var out bytes.Buffer
	summary, err := story.ReverseWordsApp(t.Context(), newEnv(t, &out, installed, process, time.Minute))
	require.NoError(t, err, "%s", &out)
	requireSummary(t, story.Summary{Operator: "reversewordsapp", Made: 2, What: "object"}, summary)
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

func TestSite(t *testing.T) {
	longform.Only(t)
	start(t, reverseWordsApp)
	installed, process := start(t, site)
	var out bytes.Buffer
	summary, err := story.Site(t.Context(), newEnv(t, &out, installed, process, time.Minute))
	require.NoError(t, err, "%s", &out)
	requireSummary(t, story.Summary{Operator: "site", Made: 3, What: "object"}, summary)
	for _, line := range []string{
		"operator  created ReverseWordsApp, Missing\n",
		"operator  no write of a child\n",
		"operator  updated ReverseWordsApp, Drifted: spec.replicas 5 -> 2\n",
		"seen      the serviceType NodePort, still there\n",
		`its condition Ready is False: ImagePullBackOff: Deployment "dp-site-sample": pod "dp-site-sample-`,
		"requests  0, reads and dry runs included\n",
		"True Plain\n",
		"1 delete ingresses, 1 delete reversewordsapps,",
	} {
		require.Contains(t, out.String(), line)
	}
	require.True(t, strings.HasSuffix(out.String(), "Everything came true.\n"), "%s", &out)
	require.Less(t, strings.Count(out.String(), "\n"), 60, "it is short")
}

func TestBookStore(t *testing.T) {
	installed, process := start(t, bookStore, "--restart-after=1s")
	var out bytes.Buffer
	summary, err := story.BookStore(t.Context(), newEnv(t, &out, installed, process, time.Minute))
	require.NoError(t, err, "%s", &out)
	requireSummary(t, story.Summary{Operator: "bookstore", Made: 8, What: "object"}, summary)
	for _, line := range []string{
		"operator  recreated StatefulSet, DesiredChanged: spec.volumeClaimTemplates[0].spec.resources.requests[storage] 2Gi -> 3Gi\n",
		`restart pod "example-bookstore-mongodb-0" to finish`,
		"1 delete pods, 1 delete statefulsets,",
		"volume    True Done, then False ShrinkingRefused, then True Done\n",
		"requests  0, reads and dry runs included\n",
		"seen      the same claim, still there\n",
	} {
		require.Contains(t, out.String(), line)
	}
	settings, err := storage.Read(shared.Dir())
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(storage.Settings{}, settings), "storage is as it was")
	require.True(t, strings.HasSuffix(out.String(), "Everything came true.\n"), "%s", &out)
	require.Less(t, strings.Count(out.String(), "\n"), 100, "it is short")
}

func TestPostgresWriter(t *testing.T) {
	server := postgres.New(t)
	database := server.Database(t)
	installed, err := postgresWriter()
	require.NoError(t, err)
	installed.Env = database.Environment()
	_, process := start(t, postgresWriter, "--create-tables", "--check-interval=2s")
	var out bytes.Buffer
	env := newEnv(t, &out, installed, process, time.Minute)
	env.Namespace = "default" // as the sample has it
	summary, err := story.PostgresWriter(t.Context(), env, server, database)
	require.NoError(t, err, "%s", &out)
	requireSummary(t, story.Summary{Operator: "postgreswriter", Made: 2, What: "row"}, summary)
	lines := []string{
		"row       default/sample-student: alex, 23, canada, ",
		"requests  1 patch postgreswriters, 2 patch postgreswriters/status\n", // the claim, and the row
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
	longform.Only(t)
	installed, err := application()
	require.NoError(t, err)
	var out bytes.Buffer
	_, err = story.Application(t.Context(), newEnv(t, &out, installed, nil, 5*time.Second))
	require.ErrorContains(t, err, "expected a Secret, a Deployment and a Service; seen: no Secret, no Deployment, no Service")
	require.NotContains(t, out.String(), "came true")
}

func TestOperatorThatEndsBeforeSomebodyScales(t *testing.T) {
	longform.Only(t)
	installed, process := start(t, application)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &listener{word: "kubectl scale", do: func() {
		require.NoError(t, process.Stop())
		time.AfterFunc(10*time.Second, cancel) // patience is for what comes before
	}}
	_, err := story.Application(ctx, newEnv(t, out, installed, process, time.Minute))
	require.ErrorContains(t, err, "expected 5 replicas to be 1 again; seen: 5 replicas")
	require.Contains(t, out.String(), "2. ")
	require.NotContains(t, out.String(), "3. ")
}

func TestSumUp(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, story.SumUp(&out, story.AllRequests,
		story.Summary{
			Operator: "application", Made: 4, What: "object", Requests: 23, Took: 12345 * time.Millisecond,
			RestReconciles: 10, RestRequests: 0,
		},
		story.Summary{Operator: "other", Made: 1, What: "row", Requests: 5, RestReconciles: 1, RestRequests: 2},
	))
	want := `
operator      made        requests   took     requests when nothing was to do
application   4 objects   23         12.3 s   0 in 10 reconciles
other         1 row       5          0.0 s    2 in 1 reconcile

Requests are all that the operator made during its story, status, reads and dry runs included. The event
that goes with each write is not.
`
	require.Empty(t, cmp.Diff(want, out.String()))
}

// requireSummary compares the figures that are the same in every run, and requires the others to be
// positive.
func requireSummary(t *testing.T, want, seen story.Summary) {
	t.Helper()
	require.Positive(t, seen.Took)
	require.Greater(t, seen.Requests, seen.Made, "there is status to write, too")
	require.GreaterOrEqual(t, seen.RestReconciles, 10)
	want.Took, want.Requests, want.RestReconciles = seen.Took, seen.Requests, seen.RestReconciles
	require.Empty(t, cmp.Diff(want, seen))
}

// A listener runs a function when it reads a word.
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

func newEnv(t *testing.T, out io.Writer, installed *operator.Operator, process *operator.Process, patience time.Duration) story.Env {
	t.Helper()
	return story.Env{
		Out: out, Cluster: shared, Own: shared, Operator: installed, Process: process, Namespace: shared.Namespace(t), Timeout: patience,
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
