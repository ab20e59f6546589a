package manifest_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/manifest"
)

// everywhere has an action in every place that takes one.
const everywhere = `# {{.Bare}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-{{.Number}} # {{.Bare}}
  labels: {bare: {{.Bare}}, flag: {{quote .Flag}}, "quoted": {{.Text | quote}}}
data:
  bare: {{.Bare}}
  between: a {{.Bare}} b
  twice: {{.Bare}}/{{.Bare}}
  double: "a {{.Bare}} b"
  single: 'a {{.Bare}} b'
  literal: |-
    {{.Bare}}
  folded: >-
    {{.Bare}}
  quoted: {{quote .Text}}
  formatted: {{printf "a %s b" .Text | quote}}
  {{- if .Flag}}
  branch: {{quote .Text}}
  {{- end}}
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  externalName: {{.Bare}}
  publishNotReadyAddresses: {{.Flag}}
  externalIPs:
  - {{quote .Text}}
  - {{.Bare}}
  {{- range .List}}
  - {{quote .}}
  {{- end}}
  ports:
  - port: {{.Number}}
`

// FuzzValues: no value adds, removes or moves a document, a key or a kind. What comes out
// is, member for member, what the same manifest written in Go would make of the values, or
// an error that says where.
func FuzzValues(f *testing.F) {
	for _, value := range hostile {
		f.Add("benign", value, int32(80), true)
		f.Add(value, "benign", int32(-1), false)
		f.Add(value, value, int32(0), true)
	}
	renderer := manifest.NewRenderer(folder(map[string]string{"manifest.yaml": everywhere}), scheme.Scheme)
	f.Fuzz(func(t *testing.T, bare, text string, number int32, flag bool) {
		list := strings.Fields(text)
		objects, err := renderer.Objects("manifest.yaml", "team-a", map[string]any{
			"Bare": bare, "Text": text, "Number": number, "Flag": flag, "List": list,
		}, &corev1.ConfigMap{}, &corev1.Service{})
		if err != nil {
			requirePlaced(t, err, everywhere)
			return
		}
		require.True(t, utf8.ValidString(bare+text))
		require.Empty(t, cmp.Diff(written(bare, text, number, flag, list), objects))
	})
}

func written(bare, text string, number int32, flag bool, list []string) []client.Object {
	configMap := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-" + strconv.Itoa(int(number)), Namespace: "team-a",
			Labels: map[string]string{"bare": bare, "flag": strconv.FormatBool(flag), "quoted": text},
		},
		Data: map[string]string{
			"bare": bare, "between": "a " + bare + " b", "twice": bare + "/" + bare,
			"double": "a " + bare + " b", "single": "a " + bare + " b",
			"literal": bare, "folded": bare, "quoted": text, "formatted": "a " + text + " b",
		},
	}
	if flag {
		configMap.Data["branch"] = text
	}
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "team-a"},
		Spec: corev1.ServiceSpec{
			ExternalName: bare, PublishNotReadyAddresses: flag,
			ExternalIPs: append([]string{text, bare}, list...),
			Ports:       []corev1.ServicePort{{Port: number}},
		},
	}
	return []client.Object{configMap, service}
}

// requirePlaced wants an error that names a line which the file has.
func requirePlaced(t *testing.T, err error, text string) {
	t.Helper()
	fault, ok := errors.AsType[*manifest.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	require.Equal(t, "manifest.yaml", fault.File)
	require.NotEmpty(t, fault.Problem)
	require.True(t, 1 <= fault.Line && fault.Line <= 1+strings.Count(text, "\n"), "%v", err)
}

// FuzzManifest: whatever is in a file, what comes out is of the kinds and in the namespace
// that were asked for, and what is wrong has a place. Nothing panics.
func FuzzManifest(f *testing.F) {
	f.Add(everywhere, "x")
	f.Add(service+"spec:\n  clusterIP: {{.}}\n", "10.0.0.1")
	f.Add(configMap+"  a: &a [*a, *a]\n", "")
	f.Add(configMap+"  a: \ue000{{/**/}}7z {{.}} \xee{{/**/}}\x80\x80\n", "x")
	f.Add(configMap+"  ? {a: b}\n  : c\n", "")
	f.Add(`{{define "x"}}{{.}}{{end}}{{block "y" .}}{{end}}{{range $i, $c := .}}{{break}}{{end}}`, "ab")
	f.Add("{{- /* */ -}} {{with $x := .}}{{$x = 3}}{{_yield 0 1}}{{_text 0}}{{end}}", "a")
	for _, value := range hostile {
		f.Add(configMap+"  key: "+value+"\n", value)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		objects, err := render(text, value)
		if err != nil {
			require.Empty(t, objects)
			fault, ok := errors.AsType[*manifest.Error](err)
			require.True(t, ok, "%T: %v", err, err)
			require.Equal(t, "manifest.yaml", fault.File)
			require.True(t, 1 <= fault.Line && fault.Line <= 1+strings.Count(text, "\n"), "%v", err)
			return
		}
		for _, object := range objects {
			require.Equal(t, "team-a", object.GetNamespace())
			switch object.(type) {
			case *corev1.ConfigMap, *corev1.Service:
			default:
				t.Errorf("%T was not asked for", object)
			}
		}
	})
}
