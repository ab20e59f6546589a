package canon_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trueup-go/trueup/internal/canon"
)

type (
	left struct {
		Shared string
		Left   string
	}
	twin struct {
		left
		Own string
	}
	twins struct {
		twin
		otherTwin
	}
	otherTwin struct {
		left
		Other string
	}
	again struct {
		*again
		Name string
	}
	mark    struct{ N int }
	marked  interface{ IsZero() bool }
	keyText struct{ text string }
	badKey  struct{ text string }
	badText string
)

func (m mark) IsZero() bool { return m.N == 0 }

func (k *keyText) MarshalText() ([]byte, error) { return []byte(k.text), nil }

func (k badKey) MarshalText() ([]byte, error) { return nil, errNo }

func (b badText) MarshalText() ([]byte, error) { return nil, errNo }

// What custom types may look like, too, is read as encoding/json writes it.
func TestOddTypesAreReadAsJSON(t *testing.T) {
	t.Parallel()
	type zero struct {
		Mark marked            `json:"mark,omitzero"`
		Map  map[string]string `json:"map,omitempty,omitzero"`
	}
	cases := map[string]any{
		"a struct embedded twice at one depth": twins{twin{left{"a", "b"}, "c"}, otherTwin{left{"d", "e"}, "f"}},
		"a struct embedded in itself":          again{&again{Name: "inner"}, "outer"},
		"a struct embedded under a name": struct {
			left `json:"left"`
		}{left{"a", "b"}},
		"interfaces that are nil":    []fmt.Stringer{nil, time.Second},
		"bytes that are nil":         [][]byte{nil, []byte("a")},
		"maps that are nil":          []map[string]string{nil, {"a": "b"}},
		"maps of lists that are nil": []map[string][]string{nil},
		"any list that is nil":       []any(nil),
		"keys that are nil":          map[*keyText]int{nil: 1, {"a"}: 2},
		"interfaces that are zero":   []zero{{}, {Mark: mark{}}, {Mark: (*selfZero)(nil)}, {Mark: mark{1}}},
		"maps that are zero":         []zero{{Map: map[string]string{}}, {Map: map[string]string{"a": "b"}}},
		"pointers to pointers, as text": struct {
			P **int `json:"p,string"` //nolint:staticcheck // as it may be found
			M mark  `json:"m,string"` //nolint:staticcheck // as it may be found
		}{P: new(new(1)), M: mark{2}},
	}
	for name, value := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := json.Marshal(value)
			require.NoError(t, err)
			got, err := canon.Append(nil, value)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(withoutNulls(t, want), withoutNulls(t, got)))
		})
	}
}

// wired is an object that has no JSON form.
type wired struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              wiring `json:"spec"`
}

type wiring struct {
	Channel chan int `json:"channel"`
}

func (w *wired) DeepCopyObject() runtime.Object { copied := *w; return &copied }

func TestAppendErrorsOfOddTypes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		value any
		want  string
	}{
		"half a complex number": {struct { // its real part is zero, which must not pass for empty
			C complex128 `json:"c,omitempty"`
		}{complex(0, 1)}, "cannot encode a value of type complex128"},
		"a key that fails":   {map[badKey]int{{"a"}: 1}, "cannot marshal a key of type canon_test.badKey: no"},
		"a text that fails":  {[]badText{"a"}, "[0]: cannot marshal canon_test.badText: no"},
		"a value of a key":   {map[string]chan int{"a": nil}, "[a]: cannot encode a value of type chan int"},
		"a value in a label": {unstructuredWith("labels", map[string]any{"a": make(chan int)}), "metadata[labels][a]: cannot encode"},
		"not a number, as text": {struct {
			F float64 `json:"f,string"`
		}{math.NaN()}, "f: cannot encode the number NaN"},
		"labels that are one in JSON":      {objectWith(func(m *metav1.ObjectMeta) { m.Labels = sameInJSON() }), "metadata.labels: two keys are"},
		"annotations that are one in JSON": {objectWith(func(m *metav1.ObjectMeta) { m.Annotations = sameInJSON() }), "metadata.annotations: two keys are"},
		"a member of unstructured content": {&unstructured.Unstructured{Object: map[string]any{"spec": make(chan int)}}, "[spec]: cannot encode"},
		"a member of a spec":               {&wired{Spec: wiring{Channel: make(chan int)}}, "spec.channel: cannot encode a value of type chan int"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Append([]byte("kept"), c.value)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, "kept", string(got))
		})
	}
}

func sameInJSON() map[string]string { return map[string]string{"\xff": "1", "\xfe": "2"} }

func objectWith(change func(*metav1.ObjectMeta)) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{}
	change(&obj.ObjectMeta)
	return obj
}

func unstructuredWith(member string, v any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{member: v}}}
}

// marshaler is an object with a JSON form of its own.
type marshaler struct {
	corev1.ConfigMap

	text string
	err  error
}

func (m *marshaler) MarshalJSON() ([]byte, error) { return []byte(m.text), m.err }

// texter is an object that is no object in JSON.
type texter struct{ corev1.ConfigMap }

func (*texter) MarshalText() ([]byte, error) { return []byte("a text"), nil }

// wrapper has the methods of an object without being a pointer to one.
type wrapper struct{ *corev1.ConfigMap }

// contentless is unstructured, as some other than apimachinery's may be, and has no content.
type contentless struct{ unstructured.Unstructured }

func (*contentless) UnstructuredContent() map[string]any { return nil }

func TestObjectsOfOddTypes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		obj    any
		want   string
		err    string
	}{
		"a struct": {
			"is what its pointer is", *objectWith(func(m *metav1.ObjectMeta) { m.Name = "a" }), `{"metadata":{"name":"a"}}`, "",
		},
		"no content": {"likewise", &contentless{}, `{}`, ""},
		"nothing":    {"is an empty object", &unstructured.Unstructured{}, `{}`, ""},
		"a form of its own": {
			"decides", &marshaler{text: `{"status":1,"kind":"K","spec":{"b":2.0,"a":null},"metadata":{"uid":"u","labels":{"x":"y"}}}`},
			`{"metadata":{"labels":{"x":"y"}},"spec":{"b":2}}`, "",
		},
		"a form that fails":      {"", &marshaler{err: errNo}, "", "cannot marshal *canon_test.marshaler: no"},
		"a form that is no JSON": {"", &marshaler{text: "{"}, "", "cannot parse the JSON of *canon_test.marshaler"},
		"a form that is a list":  {"", &marshaler{text: "[]"}, "", "cannot read *canon_test.marshaler: its JSON is not an object"},
		"a text":                 {"", &texter{}, "", "cannot read an object of type *canon_test.texter: its JSON is not an object"},
		"no pointer":             {"", wrapper{&corev1.ConfigMap{}}, "", "cannot read an object of type canon_test.wrapper: it is not a pointer to a struct"},
		"a Secret's text": {
			"becomes data, where there is none",
			unstructuredOf(t, `{"apiVersion":"v1","kind":"Secret","stringData":{"a":"b"}}`), `{"data":{"a":"Yg=="}}`, "",
		},
		"a Secret's number": {
			"is for the server to refuse",
			unstructuredOf(t, `{"apiVersion":"v1","kind":"Secret","stringData":{"a":1}}`), `{"stringData":{"a":1}}`, "",
		},
		"a Secret whose data is none": {
			"likewise", unstructuredOf(t, `{"apiVersion":"v1","kind":"Secret","data":"x","stringData":{"a":"b"}}`),
			`{"data":"x","stringData":{"a":"b"}}`, "",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Append(nil, c.obj)
			if c.err != "" {
				require.ErrorContains(t, err, c.err, c.reason)
				return
			}
			require.NoError(t, err, c.reason)
			require.Equal(t, c.want, string(got), c.reason)
		})
	}
	_, err := canon.Body(&marshaler{err: errNo}, corev1.SchemeGroupVersion.WithKind("K"), "", "")
	require.ErrorIs(t, err, errNo)
}

// fieldless is an object whose JSON has no metadata.
type fieldless struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"-"`

	Spec int `json:"spec"`
}

func (f *fieldless) DeepCopyObject() runtime.Object {
	out := *f
	return &out
}

// The metadata of an object is what its methods tell, wherever its fields are.
func TestMetadataWithoutAField(t *testing.T) {
	t.Parallel()
	obj := &fieldless{Spec: 1}
	obj.Labels = map[string]string{"a": "b"}
	got, err := canon.AppendObject(nil, obj)
	require.NoError(t, err)
	require.Equal(t, `{"metadata":{"labels":{"a":"b"}},"spec":1}`, string(got))
}
