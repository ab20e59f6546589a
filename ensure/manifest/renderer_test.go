package manifest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/manifest"
)

func TestObjectIsWhatTheManifestSays(t *testing.T) {
	renderer := manifest.NewRenderer(folder(map[string]string{
		"names.tpl": `{{define "name"}}{{.Name}}-service{{end}}`,
		"service.yaml": `# What is in front of {{.Name}}.
apiVersion: v1
kind: Service
metadata:
  name: {{template "name" .}}
  labels:
    app: {{.Name}}
    {{- with .Version}}
    version: {{quote .}}
    {{- end}}
spec:
  selector: {app: {{.Name}}}
  ports:
  {{- range .Ports}}
  - port: {{.}}
    targetPort: {{$.Target}}
  {{- end}}
`,
	}), scheme.Scheme)

	service, err := manifest.Object[*corev1.Service](renderer, "service.yaml", "team-a", map[string]any{
		"Name": "web", "Version": "1.0", "Ports": []int32{80, 443}, "Target": intstr.FromString("http"),
	})

	require.NoError(t, err)
	require.Empty(t, cmp.Diff(&corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-service", Namespace: "team-a", Labels: map[string]string{"app": "web", "version": "1.0"},
		},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{
				{Port: 80, TargetPort: intstr.FromString("http")},
				{Port: 443, TargetPort: intstr.FromString("http")},
			},
		},
	}, service))
}

func TestObjectsAreTheDocumentsInOrder(t *testing.T) {
	objects, err := render("---\n"+configMap+"  a: b\n---\n# nothing but a remark\n---\n"+
		"apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: {{.}}\n", "team-a")

	require.NoError(t, err)
	require.Len(t, objects, 2)
	require.IsType(t, &corev1.ConfigMap{}, objects[0])
	require.IsType(t, &corev1.Service{}, objects[1])
	for _, object := range objects {
		require.Equal(t, "team-a", object.GetNamespace())
	}
}

// What a value is goes by its JSON, wherever it came from.
func TestValues(t *testing.T) {
	type name string
	for _, c := range []struct {
		name, action string
		value        any
		want         string
	}{
		{"text", `{{.}}`, "docker.io/library/nginx:1.29", "docker.io/library/nginx:1.29"},
		{"text with spaces", `{{.}}`, "two words", "two words"},
		{"text of a type", `{{.}}`, name("web"), "web"},
		{"pointer to text", `{{.}}`, new("web"), "web"},
		{"part of a scalar", `{{.}}:latest`, "nginx", "nginx:latest"},
		{"two actions in a scalar", `{{.}}-{{.}}`, "a", "a-a"},
		{"inside quotes", `"x {{.}} y"`, "it's", "x it's y"},
		{"inside single quotes", `'x {{.}} y'`, `a\b`, `x a\b y`},
		{"paragraphs", "a\n\n    {{.}}", "b1", "a\nb1"},
		{"block", "|-\n    first\n    {{.}}", "second", "first\nsecond"},
		{"quantity", `{{.}}`, resource.MustParse("2Gi"), "2Gi"},
		{"quantity that looks like a number", `{{quote .}}`, resource.MustParse("1"), "1"},
		{"number, quoted", `{{quote .}}`, 80, "80"},
		{"boolean, quoted", `{{quote .}}`, true, "true"},
		{"nothing, quoted", `{{quote .}}`, "", ""},
		{"word of YAML 1.1, quoted", `{{quote .}}`, "yes", "yes"},
		{"formatted and quoted", `{{printf "%s %d" . 1 | quote}}`, "a: b #", "a: b # 1"},
		{"quoted and formatted", `{{quote . | printf "%s/b"}}`, "a", "a/b"},
		{"bytes", `{{.}}`, []byte("hello"), "aGVsbG8="},
		{"variable", `{{$x := quote .}}{{$x}}`, "a: b", "a: b"},
		{"beyond the basic plane", `{{quote .}}`, "😀\U0010FFFF", "😀\U0010FFFF"},
		{"control characters", `{{quote .}}`, "\x00\x07\t\r\n\x7f\u0085\u2028\ufeff\ufffe", "\x00\x07\t\r\n\x7f\u0085\u2028\ufeff\ufffe"},
		{"date", `{{.}}`, "2026-01-02", "2026-01-02"},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, err := render(configMap+"  key: "+c.action+"\n", c.value)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"key": c.want}, dataOf(t, objects))
		})
	}
}

// A level and a mask have JSON that is not their text.
type (
	level string
	mask  string
)

func (l level) MarshalText() ([]byte, error) { return []byte("level-" + l), nil }

func (*mask) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

type ring *ring

func TestValuesWithJSONOfTheirOwn(t *testing.T) {
	var endless ring
	endless = &endless
	for action, want := range map[string]string{"{{.Level}}": "level-x", "{{quote .Mask}}": "***", "{{quote .Far}}": "far"} {
		objects, err := render(configMap+"  key: "+action+"\n", map[string]any{
			"Level": level("x"), "Mask": new(mask("hunter2")), "Far": new(new(new("far"))),
		})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"key": want}, dataOf(t, objects))
	}
	require.Contains(t, fault(t, configMap+"  key: {{.}}\n", endless).Problem, "which cannot be encoded as JSON")
}

// The first call reports that NewRenderer was given no files or no scheme.
func TestMisuse(t *testing.T) {
	for _, renderer := range []*manifest.Renderer{
		nil, manifest.NewRenderer(nil, scheme.Scheme), manifest.NewRenderer(folder(nil), nil), manifest.NewRenderer(manifest.Overlay(nil, nil), scheme.Scheme),
	} {
		_, err := manifest.Object[*corev1.ConfigMap](renderer, "x", "", nil)
		require.EqualError(t, err, "x: manifest.NewRenderer or NewFolder was given no files or no scheme")
		_, err = renderer.Objects("x", "", nil)
		require.EqualError(t, err, "x: manifest.NewRenderer or NewFolder was given no files or no scheme")
	}
	for _, files := range []fs.FS{manifest.Overlay(nil, folder(map[string]string{"x": configMap})), manifest.Overlay(folder(map[string]string{"x": configMap}), nil)} {
		_, err := manifest.Object[*corev1.ConfigMap](manifest.NewRenderer(files, scheme.Scheme), "x", "", nil)
		require.NoError(t, err)
	}
}

// A file system that changes, as a mounted folder does, is read again.
func TestFilesAreReadAtEachCall(t *testing.T) {
	files := folder(map[string]string{"manifest.yaml": configMap + "  version: old\n"})
	renderer := manifest.NewRenderer(files, scheme.Scheme)
	version := func() string {
		object, err := manifest.Object[*corev1.ConfigMap](renderer, "manifest.yaml", "team-a", nil)
		require.NoError(t, err)
		return object.Data["version"]
	}
	require.Equal(t, "old", version())

	files["manifest.yaml"] = &fstest.MapFile{Data: []byte(configMap + "  version: {{template \"version\"}}\n")}
	files["version.tpl"] = &fstest.MapFile{Data: []byte(`{{define "version"}}new{{end}}`)}
	require.Equal(t, "new", version())

	files["version.tpl"] = &fstest.MapFile{Data: []byte(`{{define "version"}}newest{{end}}`)}
	require.Equal(t, "newest", version())
}

func TestOverlayGoesFileByFile(t *testing.T) {
	folderPath := t.TempDir()
	lower := folder(map[string]string{
		"a.yaml": configMap + "  from: {{template \"default\"}}\n",
		"b.yaml": configMap + "  from: {{template \"default\"}}\n",
		"x.tpl":  `{{define "default"}}lower{{end}}`,
	})
	renderer := manifest.NewRenderer(manifest.Overlay(os.DirFS(folderPath), lower), scheme.Scheme)
	from := func(name string) string {
		object, err := manifest.Object[*corev1.ConfigMap](renderer, name, "team-a", nil)
		require.NoError(t, err)
		return object.Data["from"]
	}
	require.Equal(t, "lower", from("a.yaml"))

	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folderPath, name), []byte(text), 0o600))
	}
	write("a.yaml", configMap+"  from: upper\n")
	require.Equal(t, "upper", from("a.yaml"))
	require.Equal(t, "lower", from("b.yaml"))

	write("x.tpl", `{{define "default"}}upper{{end}}`)
	require.Equal(t, "upper", from("b.yaml"))

	require.NoError(t, os.RemoveAll(folderPath))
	require.Equal(t, "lower", from("a.yaml"))
	require.Equal(t, "lower", from("b.yaml"))
}

// A file that is there and cannot be read must not bring the default back unseen.
func TestOverlayHidesNoFault(t *testing.T) {
	folderPath := t.TempDir()
	require.NoError(t, os.Symlink("loop", filepath.Join(folderPath, "loop")))
	lower := folder(map[string]string{"loop": configMap})
	renderer := manifest.NewRenderer(manifest.Overlay(os.DirFS(folderPath), lower), scheme.Scheme)

	_, err := renderer.Objects("loop", "team-a", nil, &corev1.ConfigMap{})

	require.ErrorContains(t, err, "loop: cannot be read: ")
	require.NotContains(t, err.Error(), folderPath)
}

func TestCallerDecidesKindAndNamespace(t *testing.T) {
	fault1 := fault(t, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n", nil)
	require.Equal(t, "manifest.yaml:2: kind: is not one of the expected kinds: v1 ConfigMap, v1 Service", fault1.Error())

	fault2 := fault(t, "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: {{.}}\n", "team-b")
	require.Equal(t, 5, fault2.Line)
	require.Equal(t, "metadata.namespace", fault2.Path)

	renderer := manifest.NewRenderer(folder(map[string]string{
		"role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: web\n",
		"bad.yaml":  "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: web\n  namespace: x\n",
		"two.yaml":  configMap + "---\n" + configMap,
		"none.yaml": "# nothing",
	}), scheme.Scheme)
	role, err := manifest.Object[*rbacv1.ClusterRole](renderer, "role.yaml", "", nil)
	require.NoError(t, err)
	require.Empty(t, role.Namespace)
	_, err = manifest.Object[*rbacv1.ClusterRole](renderer, "bad.yaml", "", nil)
	require.EqualError(t, err, "bad.yaml:5: metadata.namespace: must be empty, as no namespace was given")
	_, err = manifest.Object[*corev1.ConfigMap](renderer, "two.yaml", "team-a", nil)
	require.EqualError(t, err, "two.yaml: contains 2 documents, but must contain one")
	_, err = manifest.Object[*corev1.ConfigMap](renderer, "none.yaml", "team-a", nil)
	require.EqualError(t, err, "none.yaml: contains 0 documents, but must contain one")
	_, err = manifest.Object[*corev1.ConfigMap](renderer, "absent.yaml", "team-a", nil)
	require.EqualError(t, err, "absent.yaml: cannot be read: file does not exist")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// Without a Go type no unknown field would be found.
func TestKindsWithoutGoTypes(t *testing.T) {
	renderer := manifest.NewRenderer(folder(map[string]string{"manifest.yaml": configMap}), scheme.Scheme)
	for _, kind := range []client.Object{
		nil, &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{},
	} {
		_, err := renderer.Objects("manifest.yaml", "team-a", nil, kind)
		fault, ok := errors.AsType[*manifest.Error](err)
		require.True(t, ok, "%T: %v", kind, err)
		require.Equal(t, "manifest.yaml", fault.File)
	}
	_, err := manifest.Object[client.Object](renderer, "manifest.yaml", "team-a", nil)
	require.Error(t, err)
	_, err = manifest.Object[*corev1.ConfigMap](manifest.NewRenderer(folder(nil), runtime.NewScheme()), "x", "team-a", nil)
	require.EqualError(t, err, "x: the scheme has no kind, or several, for *v1.ConfigMap")
	require.True(t, runtime.IsNotRegisteredError(errors.Unwrap(err)))
}

func TestRendererIsSafeForConcurrentUse(t *testing.T) {
	renderer := manifest.NewRenderer(folder(map[string]string{
		"manifest.yaml": configMap + "  key: {{quote .}}\n",
	}), scheme.Scheme)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 50 {
				object, err := manifest.Object[*corev1.ConfigMap](renderer, "manifest.yaml", "team-a", i)
				if err != nil || object.Data["key"] != string(rune('0'+i)) {
					t.Errorf("%d: %v, %v", i, object, err)
				}
			}
		})
	}
	group.Wait()
}
