package manifest_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/ensure/manifest"
)

func TestMoreBrokenManifests(t *testing.T) {
	for name, c := range map[string]struct {
		manifest      string
		line          int
		path, problem string
	}{
		"no number in a list":     {service + "spec:\n  externalIPs: [.nan]\n", 6, "spec.externalIPs[0]", "JSON has no such value"},
		"number for an item":      {service + "spec:\n  ports:\n  - 1\n", 7, "spec.ports[0]", "is of type number, but must be of type v1.ServicePort"},
		"dotted field at the top": {service + "a.b/c: 1\n", 5, "[a.b/c]", "is not a field of this kind"},
	} {
		t.Run(name, func(t *testing.T) {
			found := fault(t, c.manifest, nil)
			require.Equal(t, c.path, found.Path)
			require.Contains(t, found.Problem, c.problem)
			require.Equal(t, c.line, found.Line, found.Error())
		})
	}
}

// A Valve is a custom kind whose setting judges its members together.
type Valve struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Setting setting `json:"setting"`
}

type setting struct {
	Open   bool `json:"open,omitempty"`
	Closed bool `json:"closed,omitempty"`
}

func (s *setting) UnmarshalJSON(text []byte) error {
	type plain setting
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	if s.Open && s.Closed {
		return errors.New("both")
	}
	return nil
}

func (v *Valve) DeepCopyObject() runtime.Object {
	out := *v
	return &out
}

// Each member is fine alone, so it is the whole that is at fault.
func TestMembersThatDoNotGoTogether(t *testing.T) {
	known := runtime.NewScheme()
	known.AddKnownTypes(schema.GroupVersion{Group: "example.com", Version: "v1"}, &Valve{})
	const text = "apiVersion: example.com/v1\nkind: Valve\nmetadata:\n  name: a\nsetting:\n  open: true\n  closed: true\n"
	renderer := manifest.NewRenderer(folder(map[string]string{"manifest.yaml": text}), known)
	_, err := renderer.Objects("manifest.yaml", "team-a", nil, &Valve{})
	require.EqualError(t, err, "manifest.yaml:5: setting: is not a value of its type")
}

// A Pump is a custom kind that judges all of itself.
type Pump struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	setting
}

func (p *Pump) DeepCopyObject() runtime.Object {
	out := *p
	return &out
}

func TestAnObjectThatDoesNotGoTogether(t *testing.T) {
	known := runtime.NewScheme()
	known.AddKnownTypes(schema.GroupVersion{Group: "example.com", Version: "v1"}, &Pump{})
	const text = "apiVersion: example.com/v1\nkind: Pump\nopen: true\nclosed: true\n"
	renderer := manifest.NewRenderer(folder(map[string]string{"manifest.yaml": text}), known)
	_, err := renderer.Objects("manifest.yaml", "team-a", nil, &Pump{})
	require.EqualError(t, err, "manifest.yaml:1: is not a value of its type")
}

// loud is text with a JSON form of its own.
type loud string

func (l loud) MarshalJSON() ([]byte, error) { return json.Marshal(strings.ToUpper(string(l))) }

func TestTextWithAFormOfItsOwn(t *testing.T) {
	objects, err := render(configMap+"  key: {{.}}\n  other: {{quote .}}\n", loud("web"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"key": "WEB", "other": "WEB"}, dataOf(t, objects))
}

// What a method returned as an error may quote anything.
func TestErrorsOfData(t *testing.T) {
	require.Equal(t, "manifest.yaml:6: cannot be executed with this data", fault(t, configMap+"  key: {{.Open}}\n", failing{}).Error())
}

type failing struct{}

func (failing) Open() (string, error) { return "", errDisk }

// brokenFS has no folder that can be read.
type brokenFS struct{ fs.FS }

var errDisk = errors.New("disk")

func (brokenFS) ReadDir(string) ([]fs.DirEntry, error) { return nil, errDisk }

func TestFolderThatCannotBeRead(t *testing.T) {
	renderer := manifest.NewRenderer(brokenFS{folder(map[string]string{"manifest.yaml": configMap})}, runtime.NewScheme())
	_, err := renderer.Objects("manifest.yaml", "team-a", nil)
	require.EqualError(t, err, "manifest.yaml: cannot be read: disk")
	require.ErrorIs(t, err, errDisk)
}

func TestOverlayOfWhatCannotBeRead(t *testing.T) {
	files := fstest.MapFS{"a.yaml": {}}
	for name, c := range map[string]struct {
		upper, lower fs.FS
		want         int
		err          error
	}{
		"broken above": {brokenFS{files}, files, 0, errDisk},
		"broken below": {files, brokenFS{files}, 0, errDisk},
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := fs.ReadDir(manifest.Overlay(c.upper, c.lower), ".")
			require.ErrorIs(t, err, c.err, "what is hidden may be what was meant")
			require.Len(t, entries, c.want)
		})
	}
	entries, err := fs.ReadDir(manifest.Overlay(fstest.MapFS{"only/a.yaml": {}}, files), "only")
	require.NoError(t, err, "a folder that only the upper one has")
	require.Len(t, entries, 1)
}
