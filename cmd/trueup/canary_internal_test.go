package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"
)

// canary is a secret that no test may find where it is masked, and encoded is its form in a Secret.
const (
	canary  = "canary-7f3a"
	encoded = "Y2FuYXJ5LTdmM2E="
)

// vault is an object whose lists name the canary: a set, and items with keys.
const vault = `
apiVersion: example.com/v1
kind: Vault
metadata:
  name: main
  namespace: shop
  resourceVersion: "1"
  annotations: {note: canary-7f3a}
  managedFields:
  - {manager: manager, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {
      f:metadata: {f:annotations: {f:note: {}}},
      f:spec: {f:gone: {'v:"canary-7f3a"': {}}, f:password: {}, f:tokens: {'v:"canary-7f3a"': {}, 'v:"second-canary-7f3a"': {}},
        f:users: {'k:{"name":"canary-7f3a"}': {.: {}, f:a: {}, f:b: {}, f:c: {}, f:d: {}, f:name: {}}, 'k:{"name":"old-canary-7f3a"}': {.: {}, f:name: {}}}}}}
  - {manager: other, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {
      f:spec: {f:tokens: {'v:"canary-7f3a"': {}}, f:users: {'k:{"name":"canary-7f3a"}': {f:e: {}}}}}}
spec:
  password: canary-7f3a
  tokens: [canary-7f3a, second-canary-7f3a, unowned-canary-7f3a]
  users: [{name: canary-7f3a, a: 1, b: 2, c: 3, d: 4, e: 5, f: 6}, {name: old-canary-7f3a}]
`

// vaultApplied is the answer to an apply of vaultDesired.
const vaultApplied = `
apiVersion: example.com/v1
kind: Vault
metadata:
  name: main
  namespace: shop
  resourceVersion: "1"
  annotations: {note: canary-7f3a}
  managedFields:
  - {manager: owner, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {
      f:spec: {f:tokens: {'v:"canary-7f3a"': {}, 'v:"new-canary-7f3a"': {}}, f:users: {'k:{"name":"canary-7f3a"}': {.: {}, f:a: {}, f:name: {}}}}}}
  - {manager: manager, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {
      f:spec: {f:password: {}, f:tokens: {'v:"canary-7f3a"': {}, 'v:"second-canary-7f3a"': {}},
        f:users: {'k:{"name":"canary-7f3a"}': {.: {}, f:b: {}, f:name: {}}, 'k:{"name":"old-canary-7f3a"}': {.: {}, f:name: {}}}}}}
spec:
  password: canary-7f3a
  tokens: [canary-7f3a, second-canary-7f3a, new-canary-7f3a]
  users: [{name: canary-7f3a, a: 9, b: 2, c: 3, d: 4, e: 5, f: 6}, {name: old-canary-7f3a}]
`

const vaultDesired = `
apiVersion: example.com/v1
kind: Vault
metadata: {name: main, namespace: shop}
spec: {tokens: [canary-7f3a, new-canary-7f3a], users: [{name: canary-7f3a, a: 9}]}
`

const login = `
apiVersion: v1
kind: Secret
metadata:
  name: login
  namespace: shop
  resourceVersion: "1"
  annotations: {note: canary-7f3a, spec-hash.trueup-go.github.io/owner: v1-763fd3ba85980d7cc26184db2dde38d0}
  managedFields:
  - {manager: manager, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {
      f:data: {f:password: {}}, f:metadata: {f:annotations: {f:note: {}}}}}
data: {password: Y2FuYXJ5LTdmM2E=}
`

const loginDesired = `
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
data: {password: Y2FuYXJ5LTdmM2E=}
`

// An apiServer answers discovery, and with these texts requests for the objects of the tests.
type apiServer struct {
	get, patch, create, definition reply
	warning                        string
}

// A reply is a YAML text with a code.
type reply struct {
	code int
	text string
}

var discovery = map[string]string{
	"/api":  `{kind: APIVersions, versions: [v1]}`,
	"/apis": `{kind: APIGroupList, apiVersion: v1, groups: [` + group("example.com") + `, ` + group("apiextensions.k8s.io") + `]}`,
	"/api/v1": `{kind: APIResourceList, apiVersion: v1, groupVersion: v1, resources: [
		{name: secrets, singularName: secret, namespaced: true, kind: Secret, verbs: [get, patch]}]}`,
	"/apis/example.com/v1": `{kind: APIResourceList, apiVersion: v1, groupVersion: example.com/v1, resources: [
		{name: vaults, singularName: vault, namespaced: true, kind: Vault, verbs: [get, patch]}]}`,
	"/apis/apiextensions.k8s.io/v1": `{kind: APIResourceList, apiVersion: v1, groupVersion: apiextensions.k8s.io/v1, resources: [
		{name: customresourcedefinitions, singularName: customresourcedefinition, namespaced: false, kind: CustomResourceDefinition, verbs: [get]}]}`,
}

func group(name string) string {
	version := `{groupVersion: ` + name + `/v1, version: v1}`
	return `{name: ` + name + `, versions: [` + version + `], preferredVersion: ` + version + `}`
}

func (s apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if text, found := discovery[r.URL.Path]; found {
		reply{http.StatusOK, text}.write(w)
		return
	}
	if s.warning != "" {
		w.Header().Set("Warning", `299 - "`+s.warning+`"`)
	}
	switch {
	case strings.Contains(r.URL.Path, "customresourcedefinitions"):
		s.definition.write(w)
	case r.Method == http.MethodGet:
		s.get.write(w)
	case strings.Contains(r.URL.Path, "/trueup-"):
		s.create.write(w)
	default:
		s.patch.write(w)
	}
}

func (r reply) write(w http.ResponseWriter) {
	body, err := yaml.YAMLToJSON([]byte(r.text))
	if err != nil || r.text == "" {
		body = []byte(r.text)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.code)
	_, _ = w.Write(body)
}

// outcome runs trueup explain on a server, and returns what it writes to the standard output, and all that it says. -f=-
// reads desired.
func outcome(t *testing.T, server apiServer, desired string, args ...string) (report, all string) {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	streams, in, out, errOut := genericiooptions.NewTestIOStreams()
	in.WriteString(desired)
	command := newCommand("trueup", streams)
	command.SetArgs(append([]string{"explain", "--cache-dir=" + t.TempDir(), "--kubeconfig=" + os.DevNull, "--server=" + s.URL, "-n=shop"}, args...))
	err := command.Execute()
	report = out.String()
	all = report + errOut.String()
	if err != nil {
		all += "error: " + err.Error()
	}
	return report, all
}

func fileWith(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "desired.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// status is an answer that quotes the canary wherever an answer can.
func status(code int, reason string) reply {
	return reply{code, `{kind: Status, apiVersion: v1, status: Failure, message: "bad canary-7f3a", reason: "` + reason + `", details: {causes: [
		{reason: FieldValueInvalid, field: "spec.tokens[canary-7f3a]", message: "Invalid value: canary-7f3a"},
		{reason: FieldManagerConflict, field: '.spec.tokens[="canary-7f3a"]', message: "conflict with canary-7f3a"},
		{reason: FieldValueInvalid, field: 'spec.users[name=canary-7f3a].a', message: "canary-7f3a"},
		{reason: FieldValueInvalid, field: 'spec.users[0].a', message: "canary-7f3a"},
		{reason: FieldValueInvalid, field: 'data[password]', message: "canary-7f3a"},
		{reason: FieldValueInvalid, field: 'metadata.annotations[note]', message: "canary-7f3a"},
		{reason: "canary-7f3a", field: 'spec.users[1].b', message: "canary-7f3a"},
		{reason: FieldValueInvalid, field: 'the value canary-7f3a', message: "canary-7f3a"}]}, code: ` + strconv.Itoa(code) + `}`}
}

var (
	vaults = apiServer{get: reply{200, vault}, patch: reply{200, vaultApplied}, create: reply{200, vaultDesired}, definition: reply{404, `{kind: Status}`}}
	logins = apiServer{get: reply{200, login}, patch: reply{200, login}, create: reply{200, loginDesired}, definition: reply{404, `{kind: Status}`}}
)

// Of a Secret, and with --mask of any object, no form of the report shows the canary.
func TestReportsMaskTheCanary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server         apiServer
		named, desired string
		mask, visible  []string
	}{
		"vault":  {vaults, "vault/main", vaultDesired, []string{"--mask"}, []string{"spec.tokens[***]", "spec.users[name=***]"}},
		"secret": {logins, "secret/login", loginDesired, nil, []string{"data.password"}},
	} {
		for form, args := range map[string][]string{
			"live":      {c.named, "--unowned"},
			"expanded":  {c.named, "--unowned", "--expand"},
			"file":      {"-f=-", "--field-manager=owner"},
			"both":      {c.named, "-f=-", "--field-manager=owner", "--expand"},
			"migration": {"-f=-", "--field-manager=owner", "--migrate-from=manager", "--expand"},
		} {
			for _, output := range []string{"text", "json"} {
				t.Run(name+" "+form+" "+output, func(t *testing.T) {
					t.Parallel()
					args := append(append(args, c.mask...), "-o="+output)
					report, all := outcome(t, c.server, c.desired, args...)
					require.NotContains(t, all, canary)
					require.NotContains(t, all, encoded)
					require.NotContains(t, all, "error: ")
					for _, path := range c.visible {
						require.Contains(t, report, path)
					}
				})
			}
		}
	}
}

// Without --mask, the reports that hide it have the canary in each part.
func TestReportsShowTheCanary(t *testing.T) {
	t.Parallel()
	report, all := outcome(t, vaults, vaultDesired, "-f=-", "--field-manager=owner", "--migrate-from=manager", "--unowned", "-o=json")
	require.Equal(t, report, all)
	var document struct{ Objects []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(report), &document))
	require.Len(t, document.Objects, 1)
	for _, part := range []string{"managers", "shared", "unowned", "dryRun"} {
		requireCanary(t, document.Objects[0][part], part)
	}
	run, _ := document.Objects[0]["dryRun"].(map[string]any)
	for _, part := range []string{"changes", "losses", "migration"} {
		requireCanary(t, run[part], part)
	}
	migration, _ := run["migration"].(map[string]any)
	for _, part := range []string{"ours", "stays"} {
		requireCanary(t, migration[part], part)
	}
}

func requireCanary(t *testing.T, value any, part string) {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	require.True(t, bytes.Contains(text, []byte(canary)), "%s: %s", part, text)
}

// What the API server and the client say about a request can quote the object.
func TestAnswersMaskTheCanary(t *testing.T) {
	t.Parallel()
	withoutKind := reply{200, "{apiVersion: v1, data: canary-7f3a}"}
	for name, change := range map[string]func(*apiServer){
		"read: a failure":          func(s *apiServer) { s.get = status(500, "InternalError") },
		"read: forbidden":          func(s *apiServer) { s.get = status(403, "Forbidden") },
		"read: not found":          func(s *apiServer) { s.get, s.patch = status(404, "NotFound"), status(500, "") },
		"read: a made-up reason":   func(s *apiServer) { s.get = status(400, canary) },
		"read: no kind":            func(s *apiServer) { s.get = withoutKind },
		"read: no JSON":            func(s *apiServer) { s.get = reply{200, "{canary-7f3a"} },
		"read: failure, no status": func(s *apiServer) { s.get = reply{500, "canary-7f3a: {"} },
		"apply: invalid":           func(s *apiServer) { s.patch = status(422, "Invalid") },
		"apply: a conflict":        func(s *apiServer) { s.patch = status(409, "Conflict") },
		"apply: a failure":         func(s *apiServer) { s.patch = status(500, "InternalError") },
		"apply: no kind":           func(s *apiServer) { s.patch = withoutKind },
		"apply: no JSON":           func(s *apiServer) { s.patch = reply{200, "{canary-7f3a"} },
		"create: a failure":        func(s *apiServer) { s.create = status(500, "InternalError") },
		"create: no kind":          func(s *apiServer) { s.create = withoutKind },
		"definition: a failure":    func(s *apiServer) { s.definition = status(500, "InternalError") },
		"definition: no kind":      func(s *apiServer) { s.definition = withoutKind },
		"a warning":                func(s *apiServer) { s.warning = canary + " is deprecated" },
	} {
		for object, c := range map[string]struct {
			server  apiServer
			desired string
			mask    []string
		}{
			"vault":  {vaults, vaultDesired, []string{"--mask"}},
			"secret": {logins, loginDesired, nil},
		} {
			for _, output := range []string{"text", "json"} {
				t.Run(name+" "+object+" "+output, func(t *testing.T) {
					t.Parallel()
					server := c.server
					change(&server)
					args := append([]string{"-f=-", "--field-manager=owner", "--migrate-from=manager", "-o=" + output}, c.mask...)
					_, all := outcome(t, server, c.desired, args...)
					require.NotContains(t, all, canary)
					require.NotContains(t, all, encoded)
				})
			}
		}
	}
}
