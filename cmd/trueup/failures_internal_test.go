package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// explainWith runs trueup explain with these arguments, and returns the error.
func explainWith(t *testing.T, args ...string) error {
	t.Helper()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	command := newCommand("trueup", streams)
	command.SetArgs(append([]string{"explain", "--cache-dir=" + t.TempDir(), "--kubeconfig=" + os.DevNull}, args...))
	return command.Execute()
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
		err := explainWith(t, c.args...)
		require.EqualError(t, err, c.want, name)
	}
}

// A file can be a Secret, so that an error has its name, a line and what is wrong, and quotes nothing.
func TestErrorsQuoteNoFile(t *testing.T) {
	t.Parallel()
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n"
	for name, c := range map[string]struct{ text, want string }{
		"no kind":             {"apiVersion: v1\ndata: {password: canary-7f3a}\n", "1: the document has no kind"},
		"no apiVersion":       {"\n# note\n---\nkind: Secret\ndata: {password: canary-7f3a}\n", "4: the document has no apiVersion"},
		"nothing but data":    {"data: {password: canary-7f3a}\n", "1: the document has no apiVersion"},
		"no name":             {"apiVersion: v1\nkind: Secret\ndata: {password: canary-7f3a}\n", "1: the document has no metadata.name"},
		"a text":              {"canary-7f3a\n", "1: the document is no object"},
		"a list":              {"- canary-7f3a\n", "1: the document is no object"},
		"a number":            {"7\n", "1: the document is no object"},
		"kind is no text":     {"apiVersion: v1\nkind: {password: canary-7f3a}\n", "1: the kind of the document is no text"},
		"kind is empty":       {"apiVersion: v1\nkind: ''\ndata: canary-7f3a\n", "1: the kind of the document is no text"},
		"version is no text":  {"apiVersion: 1\nkind: canary-7f3a\n", "1: the apiVersion of the document is no text"},
		"version is no group": {"apiVersion: a/b/canary-7f3a\nkind: Secret\n", "1: the apiVersion of the document is neither a version nor a group and a version"},
		"unknown kind":        {"apiVersion: v1\nkind: canary-7f3a\nmetadata: {name: x}\n", "1: the API server has no such kind in this apiVersion"},
		"unknown group":       {"apiVersion: canary-7f3a/v1\nkind: Secret\nmetadata: {name: x}\n", "1: the API server has no such kind in this apiVersion"},
		"metadata is a text":  {"apiVersion: v1\nkind: Secret\nmetadata: canary-7f3a\n", "1: the metadata of the document has a value of another type"},
		"a label is a number": {secret + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: x, labels: {canary-7f3a: 7}}\n", "5: the metadata of the document has a value of another type"},
		"a time is a text":    {"apiVersion: v1\nkind: Secret\nmetadata: {name: x, creationTimestamp: canary-7f3a}\n", "1: the metadata of the document has a value of another type"},
		"bad indentation":     {secret + "  data: canary-7f3a\n", "4: the document is no YAML: did not find expected key"},
		"two colons":          {secret + "data: canary-7f3a: canary-7f3a\n", "4: the document is no YAML: mapping values are not allowed in this context"},
		"a tab":               {secret + "data:\n\tcanary-7f3a: x\n", "5: the document is no YAML: found character that cannot start any token"},
		"an escape":           {secret + "data: {password: \"canary-7f3a\\q\"}\n", "4: the document is no YAML: found unknown escape character"},
		"a quote":             {secret + "data: {password: 'canary-7f3a}\n", "5: the document is no YAML: found unexpected end of stream"},
		"a brace":             {secret + "data: {password: canary-7f3a\n", "5: the document is no YAML: did not find expected ',' or '}'"},
		"a control character": {secret + "data: {password: \"canary-7f3a\x01\"}\n", "1: the document is no YAML: control characters are not allowed"},
		"an unknown anchor":   {secret + "data:\n  password: *canary-7f3a\n", "5: an alias has no anchor"},
		"an anchor in itself": {secret + "data: &canary-7f3a [*canary-7f3a]\n", "1: the document is no YAML"},
		"a tag":               {secret + "data: !!int canary-7f3a\n", "1: the document is no YAML"},
		"a tag of floats":     {secret + "data: !!float canary-7f3a\n", "1: the document is no YAML"},
		"no base64":           {secret + "data: !!binary canary-7f3a\n", "1: the document is no YAML"},
		"a tag of nobody":     {secret + "data: !canary-7f3a!x canary-7f3a\n", "4: the document is no YAML: found undefined tag handle"},
		"a merge":             {secret + "<<: canary-7f3a\n", "1: the document is no YAML"},
		"a list as a key":     {secret + "? [canary-7f3a]\n: x\n", "1: the document is no YAML"},
		"null as a key":       {secret + "data: {~: canary-7f3a}\n", "1: the document has a key that is neither a text nor a number"},
		"a key twice":         {"apiVersion: v1\nkind: Secret\ncanary-7f3a: 1\ncanary-7f3a: 2\n", "1: the document has no metadata.name"},
		"a separator":         {secret + "---canary-7f3a\n", "5: the document is no YAML: could not find expected ':'"},
		"broken JSON":         {"{\"apiVersion\": \"v1\",\n\"data\": {\"password\": \"canary-7f3a\" canary-7f3a}}", "2: the document is no YAML: did not find expected ',' or '}'"},
		"second JSON":         {"{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"x\"}}\n{\"canary-7f3a\": 1}", "2: the document has no apiVersion"},
		"an item":             {"apiVersion: v1\nkind: List\nitems:\n- data: {password: canary-7f3a}\n", "1: item 1 of the document has no apiVersion"},
		"an item of a kind":   {"apiVersion: v1\nkind: SecretList\nitems:\n- data: {password: canary-7f3a}\n", "1: item 1 of the document has no metadata.name"},
		"an item is a text":   {"apiVersion: v1\nkind: SecretList\nitems:\n- canary-7f3a\n", "1: item 1 of the document is no object"},
		"items are a text":    {"apiVersion: v1\nkind: List\nitems: canary-7f3a\n", "1: the items of the document are no list"},
		"second document":     {secret + "---\n# note\ndata: {password: canary-7f3a}\n", "6: the document has no apiVersion"},
		"UTF-16":              {"\xff\xfek\x00:\x00 \x00x\x00\n\x00", "1: the document has no apiVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := fileWith(t, c.text)
			for _, name := range []string{file, "-"} {
				_, all := outcome(t, logins, c.text, "-f="+name, "--field-manager=x", "--migrate-from=manager")
				require.Contains(t, all, "error: cannot read "+name+":"+c.want)
				require.NotContains(t, all, "canary")
			}
		})
	}
}

// Each document has an error of its own.
func TestErrorsOfSeveralDocuments(t *testing.T) {
	t.Parallel()
	_, all := outcome(t, logins, "kind: A\n---\n"+loginDesired+"--- # note\n\nkind: B\n", "-f=-", "--field-manager=x")
	require.Equal(t, "error: cannot read -:1: the document has no apiVersion\ncannot read -:10: the document has no apiVersion", all)
}

// A file of kubectl has tokens.
func TestErrorsQuoteNoConfiguration(t *testing.T) {
	t.Parallel()
	config := fileWith(t, "apiVersion: v1\nkind: Config\nusers:\n- {name: x, user: {token: *canary-7f3a}}\n")
	for _, args := range [][]string{{"secret/login"}, {"-f=" + fileWith(t, loginDesired), "--field-manager=x"}} {
		err := explainWith(t, append(args, "--kubeconfig="+config)...)
		require.EqualError(t, err, "cannot read "+config+":4: an alias has no anchor; a text that begins with * needs quotes")
	}
	err := explainWith(t, "secret/login", "--kubeconfig="+fileWith(t, "kind: Config"), "--context=no")
	require.EqualError(t, err, "cannot read the configuration of the client: invalid configuration: context was not found for specified context: no")
}

// A masked object that cannot be read has a reason in our words.
func TestReasonsOfMaskedFailures(t *testing.T) {
	t.Parallel()
	for want, reply := range map[string]reply{
		"it does not exist": {404, `{kind: Status, apiVersion: v1, status: Failure, reason: NotFound, message: canary-7f3a, code: 404}`},
		"Forbidden; the API server's message is not shown, as it can quote the object": status(403, "Forbidden"),
		"apiVersion or kind is not set": {200, "{apiVersion: v1, data: canary-7f3a}"},
	} {
		_, all := outcome(t, apiServer{get: reply}, "", "secret/login")
		require.Equal(t, "error: cannot read Secret shop/login: "+want, all)
	}
}

// Several documents, files and encodings are read as kubectl reads them.
func TestFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{"a.yaml": loginDesired, "b.json": loginJSON + loginJSON, "c.txt": "canary-7f3a", "list.yml": list} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	for file, want := range map[string]int{
		folder: 5, filepath.Join(folder, "*.y*ml"): 3, filepath.Join(folder, "b.json"): 2, server.URL + "/list.yml": 2,
		fileWith(t, "%YAML 1.1\n---\n# note\n--- # note\n"+loginDesired+"---\nnull\n---"+loginDesired): 2,
		fileWith(t, "\xef\xbb\xbf"+loginDesired):                                                       1,
	} {
		report, all := outcome(t, logins, "", "-f="+file, "--field-manager=x")
		require.Equal(t, report, all)
		require.Equal(t, want, strings.Count(report, "Secret shop/login (v1)"), file)
	}
	_, all := outcome(t, logins, "", "-f="+server.URL+"/no", "--field-manager=x")
	require.Equal(t, "error: cannot read "+server.URL+"/no: the server answers with the code 404", all)
}

const (
	loginJSON = `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}} `
	list      = "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: login}\n- kind: List\n  apiVersion: v1\n  items: [" + loginJSON + "]\n"
)
