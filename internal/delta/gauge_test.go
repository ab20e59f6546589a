package delta_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
)

// gauge is a custom kind whose spec has what no built-in kind has.
type gauge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec gaugeSpec `json:"spec"`
}

type gaugeSpec struct {
	Count      uint16                       `json:"count,omitempty"`
	Ratio      float64                      `json:"ratio,omitempty"`
	Part       float32                      `json:"part,omitempty"`
	Number     json.Number                  `json:"number,omitempty"`
	Address    netip.Addr                   `json:"address,omitzero"`
	Any        any                          `json:"any,omitempty"`
	Span       fmt.Stringer                 `json:"span,omitempty"`
	Quoted     int                          `json:"quoted,omitempty,string"`
	QuotedText *string                      `json:"quotedText,omitempty,string"`
	Lists      map[string][]string          `json:"lists,omitempty"`
	Maps       map[string]map[string]string `json:"maps,omitempty"`
	Pointers   map[string]*int              `json:"pointers,omitempty"`
	Optional   []*string                    `json:"optional,omitempty"`
	Port       intstr.IntOrString           `json:"port,omitzero"`
	Raw        runtime.RawExtension         `json:"raw,omitzero"`
	Free       map[string]any               `json:"free,omitempty"`
	Channel    chan int                     `json:"channel,omitempty"`

	ListRing    listRing      `json:"listRing,omitempty"`
	MapRing     mapRing       `json:"mapRing,omitempty"`
	StructRing  *structRing   `json:"structRing,omitempty"`
	StructRings []*structRing `json:"structRings,omitempty"`
}

type (
	listRing   []listRing
	mapRing    map[string]mapRing
	structRing struct{ Next *structRing }
)

func (g *gauge) DeepCopyObject() runtime.Object {
	out := *g
	return &out
}

func TestSatisfiesOfCustomTypes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason        string
		desired, live gaugeSpec
		want          bool
	}{
		"count":             {"", gaugeSpec{Count: 40_000}, gaugeSpec{Count: 40_000}, true},
		"other count":       {"", gaugeSpec{Count: 40_000}, gaugeSpec{Count: 40_001}, false},
		"ratio":             {"", gaugeSpec{Ratio: 0.1, Part: 0.5}, gaugeSpec{Ratio: 0.1, Part: 0.5}, true},
		"other ratio":       {"", gaugeSpec{Ratio: 0.1}, gaugeSpec{Ratio: 0.2}, false},
		"other part":        {"", gaugeSpec{Part: 0.25}, gaugeSpec{Part: 0.5}, false},
		"infinity":          {"has no form", gaugeSpec{Ratio: math.Inf(1)}, gaugeSpec{Ratio: math.Inf(1)}, false},
		"number":            {"one value, written in two ways", gaugeSpec{Number: "1.50"}, gaugeSpec{Number: "1.5"}, true},
		"other number":      {"", gaugeSpec{Number: "1.50"}, gaugeSpec{Number: "2"}, false},
		"no number":         {"has no form", gaugeSpec{Number: "x"}, gaugeSpec{Number: "x"}, false},
		"address":           {"", gaugeSpec{Address: netip.MustParseAddr("::1")}, gaugeSpec{Address: netip.MustParseAddr("0:0::1")}, true},
		"other address":     {"", gaugeSpec{Address: netip.MustParseAddr("::1")}, gaugeSpec{Address: netip.MustParseAddr("::2")}, false},
		"anything":          {"of two Go types", gaugeSpec{Any: map[string]int{"a": 1}}, gaugeSpec{Any: map[string]any{"a": 1.0, "b": 2}}, true},
		"anything else":     {"", gaugeSpec{Any: map[string]int{"a": 1}}, gaugeSpec{Any: map[string]any{"b": 2}}, false},
		"nil inside":        {"is nothing specified", gaugeSpec{Any: (*int)(nil)}, gaugeSpec{}, true},
		"zero inside":       {"is specified", gaugeSpec{Any: new(int)}, gaugeSpec{}, false},
		"no form inside":    {"", gaugeSpec{Any: make(chan int)}, gaugeSpec{Any: make(chan int)}, false},
		"interface":         {"", gaugeSpec{Span: time.Second}, gaugeSpec{Span: time.Second}, true},
		"other interface":   {"", gaugeSpec{Span: time.Second}, gaugeSpec{Span: time.Minute}, false},
		"quoted":            {"", gaugeSpec{Quoted: 1, QuotedText: new("a")}, gaugeSpec{Quoted: 1, QuotedText: new("a")}, true},
		"other quoted":      {"", gaugeSpec{Quoted: 1}, gaugeSpec{Quoted: 2}, false},
		"other quoted text": {"", gaugeSpec{QuotedText: new("a")}, gaugeSpec{QuotedText: new("b")}, false},
		"nil list of a key": {"is an empty one", gaugeSpec{Lists: map[string][]string{"a": nil}}, gaugeSpec{Lists: map[string][]string{"a": {}}}, true},
		"list of a key":     {"", gaugeSpec{Lists: map[string][]string{"a": nil}}, gaugeSpec{Lists: map[string][]string{"a": {"b"}}}, false},
		"no list of a key":  {"the key is there", gaugeSpec{Lists: map[string][]string{"a": nil}}, gaugeSpec{Lists: map[string][]string{"b": nil}}, false},
		"nil map of a key": {
			"is an empty one",
			gaugeSpec{Maps: map[string]map[string]string{"a": nil}},
			gaugeSpec{Maps: map[string]map[string]string{"a": {"theirs": "1"}}},
			true,
		},
		"nil of a key":      {"is nothing specified", gaugeSpec{Pointers: map[string]*int{"a": nil}}, gaugeSpec{}, true},
		"value of a key":    {"", gaugeSpec{Pointers: map[string]*int{"a": new(1)}}, gaugeSpec{Pointers: map[string]*int{"a": new(2)}}, false},
		"nil in a list":     {"is an item", gaugeSpec{Optional: []*string{nil}}, gaugeSpec{Optional: []*string{nil}}, true},
		"not nil in a list": {"", gaugeSpec{Optional: []*string{nil}}, gaugeSpec{Optional: []*string{new("a")}}, false},
		"number and name":   {"80 is not its text", gaugeSpec{Port: intstr.FromString("80")}, gaugeSpec{Port: intstr.FromInt32(80)}, false},
		"raw":               {"", gaugeSpec{Raw: raw(`{"a":1.0}`)}, gaugeSpec{Raw: raw(`{"b":2,"a":1}`)}, true},
		"other raw":         {"", gaugeSpec{Raw: raw(`{"a":1}`)}, gaugeSpec{Raw: raw(`{"a":2}`)}, false},
		"raw that is none":  {"has no form", gaugeSpec{Raw: raw(`{`)}, gaugeSpec{Raw: raw(`{`)}, false},
		"channel":           {"has no form", gaugeSpec{Channel: make(chan int)}, gaugeSpec{Channel: make(chan int)}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live, desired := &gauge{Spec: c.live}, &gauge{Spec: c.desired}
			require.Equal(t, c.want, delta.Satisfies(live, desired, nobodys), c.reason)
			require.Equal(t, c.want, len(delta.Unsatisfied(live, desired, nobodys)) == 0, "the paths say the same")
		})
	}
}

func raw(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }

// A cycle ends in an error, and where nothing can fail in a no, whatever it is made of.
func TestCyclesEnd(t *testing.T) {
	t.Parallel()
	list := listRing{nil}
	list[0] = list
	members := mapRing{}
	members["a"] = members
	structure := &structRing{}
	structure.Next = structure
	anyList := []any{nil}
	anyList[0] = anyList
	anyMap := map[string]any{}
	anyMap["a"] = anyMap
	rings := map[string]gaugeSpec{
		"lists":      {ListRing: list},
		"maps":       {MapRing: members},
		"structs":    {StructRing: structure},
		"pointers":   {StructRings: []*structRing{structure}},
		"any lists":  {Any: anyList},
		"any maps":   {Any: anyMap},
		"map of any": {Any: map[string][]any{"a": anyList}},
	}
	for name, ring := range rings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := canon.AppendObject(nil, &gauge{Spec: ring})
			require.ErrorContains(t, err, "cycle")
			require.False(t, delta.Satisfies(&gauge{Spec: ring}, &gauge{Spec: ring}, nobodys))
			require.Equal(t, []delta.Change{{}}, delta.Unsatisfied(&gauge{Spec: ring}, &gauge{Spec: ring}, nobodys))
			_, err = canon.Body(&gauge{Spec: ring}, corev1.SchemeGroupVersion.WithKind("Gauge"), "", "")
			require.ErrorContains(t, err, "cycle")
			_, err = delta.Specifies(&gauge{Spec: ring}, []string{"spec"})
			require.ErrorContains(t, err, "cycle")
		})
	}
}

// Whoever builds unstructured content in Go may use other types than JSON's own.
func TestSatisfiesOfGoTypesInUnstructured(t *testing.T) {
	t.Parallel()
	live := unstructuredOf(t, `{"metadata":{"labels":{"a":"1","theirs":"2"},"finalizers":["f"],"ownerReferences":[{"uid":"x"},{"uid":"y"}]},
		"spec":{"size":3,"selector":{"a":"1","theirs":"2"},"list":["a"]}}`)
	cases := map[string]struct {
		metadata, spec map[string]any
		want           bool
	}{
		"an int":               {nil, map[string]any{"size": 3}, true},
		"another int":          {nil, map[string]any{"size": 4}, false},
		"nil":                  {nil, map[string]any{"gone": (*int)(nil), "size": new(3)}, true},
		"nil of JSON's types":  {nil, map[string]any{"gone": map[string]any(nil), "away": []any(nil)}, true},
		"texts":                {nil, map[string]any{"selector": map[string]string{"a": "1"}}, true},
		"other texts":          {nil, map[string]any{"selector": map[string]string{"a": "2"}}, false},
		"a list of texts":      {nil, map[string]any{"list": []string{"a"}}, true},
		"another list":         {nil, map[string]any{"list": []string{"a", "b"}}, false},
		"labels":               {map[string]any{"labels": map[string]string{"a": "1"}}, nil, true},
		"other labels":         {map[string]any{"labels": map[string]string{"a": "2"}}, nil, false},
		"owners in order":      {map[string]any{"ownerReferences": owners("x", "y")}, nil, true},
		"owners not in order":  {map[string]any{"ownerReferences": owners("y", "x")}, nil, false},
		"an owner that left":   {map[string]any{"ownerReferences": owners("z")}, nil, false},
		"a finalizer":          {map[string]any{"finalizers": []any{"f"}}, nil, true},
		"a finalizer that ran": {map[string]any{"finalizers": []any{"f", "g"}}, nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desired := unstructuredOf(t, `{}`)
			desired.Object = map[string]any{"metadata": c.metadata, "spec": c.spec}
			require.Equal(t, c.want, delta.Satisfies(live, desired, nobodys))
		})
	}
}

func owners(uids ...string) (out []any) {
	for _, uid := range uids {
		out = append(out, map[string]any{"uid": uid})
	}
	return out
}
