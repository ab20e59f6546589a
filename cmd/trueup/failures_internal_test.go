package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// explainWith runs trueup explain with these arguments, and returns all of the output.
func explainWith(t *testing.T, args ...string) (string, error) {
	t.Helper()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	command := newCommand("trueup", streams)
	command.SetArgs(append([]string{"explain", "--cache-dir=" + t.TempDir(), "--kubeconfig=" + os.DevNull}, args...))
	err := command.Execute()
	return out.String() + errOut.String(), err
}

// The error names what a migration lacks. No request is sent.
func TestFlagsOfAMigration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no file":        {[]string{"deployment/web", "--field-manager=x", "--migrate-from=manager"}, "--migrate-from needs -f, the file with the desired objects"},
		"no field owner": {[]string{"-f=desired.yaml", "--migrate-from=manager"}, "--migrate-from needs --field-manager, the field owner that migrates"},
		"no name":        {[]string{"-f=desired.yaml", "--field-manager=x", "--migrate-from=manager,"}, "--migrate-from needs the names of managers, as metadata.managedFields has them"},
	} {
		_, err := explainWith(t, c.args...)
		require.EqualError(t, err, c.want, name)
	}
}

// A file can be a Secret, so that no error quotes it.
func TestErrorsQuoteNoFile(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for name, text := range map[string]string{
		"no kind":            "apiVersion: v1\ndata: {password: hunter2}\n",
		"no apiVersion":      "kind: Secret\ndata: {password: hunter2}\n",
		"nothing but data":   "data: {password: hunter2}\n",
		"a text":             "hunter2\n",
		"a list":             "- hunter2\n",
		"kind is no text":    "apiVersion: v1\nkind: {password: hunter2}\n",
		"broken YAML":        "apiVersion: v1\nkind: Secret\n  data: hunter2: hunter2\n",
		"broken JSON":        `{"apiVersion": "v1", "kind": "Secret", "data": {"password": "hunter2" hunter2}}`,
		"a key twice":        "apiVersion: v1\nkind: Secret\nhunter2: 1\nhunter2: 2\n",
		"an unknown anchor":  "apiVersion: v1\nkind: Secret\ndata: *hunter2\n",
		"an item":            "apiVersion: v1\nkind: List\nitems:\n- data: {password: hunter2}\n",
		"items are a text":   "apiVersion: v1\nkind: List\nitems: hunter2\n",
		"second document":    "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n---\ndata: {password: hunter2}\n",
		"metadata is a text": "apiVersion: v1\nkind: Secret\nmetadata: hunter2\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "desired.yaml")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			out, err := explainWith(t, "-f", file, "--field-manager=x", "--migrate-from=manager", "--server="+server.URL)
			require.Error(t, err)
			require.NotContains(t, out+err.Error(), "hunter2")
		})
	}
}

func TestErrorsWithoutContentStay(t *testing.T) {
	t.Parallel()
	known := errors.New("connection refused")
	require.Equal(t, known, withoutContent(known))
}
