// Package explain_test tests the command trueup explain on a real API server, on objects that other
// programs wrote in their usual ways.
package explain_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// userAgent is that of the command's requests.
const userAgent = "trueup-explain"

var shared *cluster.Cluster

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, &shared, cluster.WithKubectl()))
}

// program builds the command as the kubectl plugin, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(shared.Dir(), "kubectl-trueup")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".")
	build.Dir = filepath.Join("..", "..", "..", "cmd", "trueup")
	build.Env = append(os.Environ(), "GOWORK=") // that of the command, with this checkout of the library
	build.Stderr = os.Stderr
	return path, build.Run()
})

// explain runs trueup explain in a namespace, and returns the report.
func explain(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	out, failure, err := tryExplain(t, namespace, args...)
	require.NoError(t, err, failure)
	require.Empty(t, failure)
	return out
}

// tryExplain runs trueup explain in a namespace, and returns the report, the errors and whether it failed.
func tryExplain(t *testing.T, namespace string, args ...string) (report, failure string, err error) {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), path, append([]string{
		"explain", "--namespace=" + namespace, "--cache-dir=" + t.TempDir(), "--kubeconfig=" + shared.Kubeconfig(),
	}, args...)...)
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	err = command.Run()
	return out.String(), errOut.String(), err
}

var (
	age    = regexp.MustCompile(`(?:\d+[smh])+ ago \([^)]+\)`)
	digest = regexp.MustCompile(`v1-[0-9a-f]{32}`)
	order  = regexp.MustCompile(`; (?:after|in the same second as) `)
	spaces = regexp.MustCompile(`(\S) {2,}`)
)

// normalized returns a report without the parts that differ between two runs: ages, digests, the width of
// columns, and the namespace.
func normalized(report, namespace string) string {
	report = age.ReplaceAllString(report, "AGE")
	report = digest.ReplaceAllString(report, "DIGEST")
	report = order.ReplaceAllString(report, "; after ")
	report = strings.ReplaceAll(report, namespace, "NAMESPACE")
	return spaces.ReplaceAllString(report, "$1  ")
}

// requireParts checks that the normalized report contains each of parts as whole lines.
func requireParts(t *testing.T, report, namespace string, parts ...string) {
	t.Helper()
	report = normalized(report, namespace)
	for _, part := range parts {
		require.Contains(t, "\n"+report, "\n"+strings.TrimPrefix(part, "\n"), "the whole report:\n%s", report)
	}
}

// kubectl runs kubectl in a namespace.
func kubectl(t *testing.T, namespace, stdin string, args ...string) {
	t.Helper()
	path, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), path, append([]string{"--namespace=" + namespace, "--kubeconfig=" + shared.Kubeconfig()}, args...)...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
}

// clientOf returns the client of a program called name, which becomes the name of the field manager.
func clientOf(t *testing.T, name string) client.Client {
	t.Helper()
	config := shared.Config()
	config.UserAgent = name
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	return c
}

// requireRequests checks that the command sent these requests about a namespace since the mark, and that
// no request of the command in any test changes something.
func requireRequests(t *testing.T, since cluster.Mark, namespace string, want map[string]int) {
	t.Helper()
	found, err := shared.Requests(since, cluster.ByUserAgent(userAgent))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	var about []cluster.Request
	for _, request := range found {
		require.True(t, request.Verb == "get" || request.Verb == "patch" && request.DryRun, "%s %s", request.Verb, request.URI)
		if request.Resource != "" && request.Namespace == namespace {
			about = append(about, request)
		}
	}
	require.Equal(t, want, cluster.Counts(about))
}
