package explain_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// One object that cannot be read hides no other.
func TestFailures(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	owner(t, namespace)
	file := write(t, manifest)
	noKind := write(t, "apiVersion: v1\ndata: {password: hunter2}\n")
	gadget := write(t, "---\napiVersion: v1\nkind: Gadget\nmetadata: {name: hunter2}\n")
	for name, c := range map[string]struct {
		reason string
		args   []string
		want   string // in the errors
		report bool   // of the object that exists
	}{
		"missing": {"the error names the object", []string{"deployment/no", "configmap/site"}, `error: cannot read Deployment.apps ` + namespace + `/no: deployments.apps "no" not found`, true},
		"no right": {
			"the error names the object and the user",
			[]string{"configmap/site", "--as=nobody"},
			`error: cannot read ConfigMap ` + namespace + `/site: configmaps "site" is forbidden: User "nobody" cannot get resource`, false,
		},
		"unknown kind": {"the error names the kind", []string{"gadget/site"}, `error: cannot find the named objects: the server doesn't have a resource type "gadget"`, false},
		"no name":      {"a list is no report", []string{"configmaps"}, "error: cannot find the named objects: resource(s) were provided, but no name was specified", false},
		"no object":    {"there must be one", nil, "error: name an object", false},
		"no owner":     {"an apply needs a field owner", []string{"-f", file}, "error: -f needs --field-manager", false},
		"not in file": {
			"a file for another object is a mistake",
			[]string{"configmap/site", "-f", file, "--field-manager=x"},
			"error: cannot find ConfigMap " + namespace + "/site in " + file, false,
		},
		"no file": {"the error names the file", []string{"-f", file + ".no", "--field-manager=x"}, "error: cannot read " + file + ".no: ", false},
		"file without kind": {
			"the error names the line, and quotes nothing",
			[]string{"-f", noKind, "--field-manager=x"},
			"error: cannot read " + noKind + ":1: the document has no kind\n", false,
		},
		"file of an unknown kind": {
			"the same",
			[]string{"-f", gadget, "--field-manager=x"},
			"error: cannot read " + gadget + ":2: the API server has no such kind in this apiVersion\n", false,
		},
		"bad output": {"there are two forms", []string{"configmap/site", "-o=yaml"}, "error: the output is neither text nor json: yaml", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, failure, err := tryExplain(t, namespace, c.args...)
			require.Error(t, err, c.reason)
			require.Contains(t, failure, c.want, c.reason)
			require.Equal(t, c.report, report != "", report)
		})
	}
}

func TestSeveralObjects(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	owner(t, namespace)
	mark := shared.Mark()

	text := explain(t, namespace, "configmap/site", "serviceaccount/default", "-o=json")

	requireRequests(t, mark, namespace, map[string]int{"get configmaps": 1, "get serviceaccounts": 1})
	var document struct {
		Version int
		Objects []struct{ APIVersion, Kind, Namespace, Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	require.Equal(t, 1, document.Version)
	require.Len(t, document.Objects, 2)
	require.Equal(t, "ConfigMap", document.Objects[0].Kind)
	require.Equal(t, "ServiceAccount", document.Objects[1].Kind)
}

func TestWithoutManagedFields(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	site := owner(t, namespace)
	site.ManagedFields = []metav1.ManagedFieldsEntry{{}} // resets them
	require.NoError(t, clientOf(t, "user").Update(t.Context(), site))
	live := &corev1.ConfigMap{}
	require.NoError(t, clientOf(t, "user").Get(t.Context(), client.ObjectKeyFromObject(site), live))
	require.Empty(t, live.ManagedFields)

	report := explain(t, namespace, "configmap/site")

	requireParts(t, report, namespace,
		"managers  none: the object has no managed fields, because somebody removed them or the API server keeps none\n")
}

// kubectl finds the command in the PATH, and passes on all flags.
func TestPlugin(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	owner(t, namespace)
	path, err := program()
	require.NoError(t, err)
	kubectl, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), kubectl, "trueup", "explain", "configmap/site",
		"--namespace="+namespace, "--cache-dir="+t.TempDir(), "--kubeconfig="+shared.Kubeconfig())
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(path))
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	requireParts(t, string(out), namespace, "ConfigMap NAMESPACE/site (v1), created AGE\n")
}
