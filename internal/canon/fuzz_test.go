package canon_test

import (
	"encoding/json"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
)

// fuzzed makes an object of some built-in kind from data. Unlike random objects
// it holds whatever text, number and time the fuzzer comes up with.
func fuzzed(t require.TestingT, kind uint16, data []byte) (schema.GroupVersionKind, canon.Object) {
	gvk := builtin[int(kind)%len(builtin)]
	obj := newObject(t, gvk)
	filler(randfill.NewFromGoFuzz(data)).NilChance(0.2).Funcs(
		func(s *string, c randfill.Continue) { *s = string(fuzzedBytes(c)) },
		func(b *[]byte, c randfill.Continue) { *b = fuzzedBytes(c) },
		func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(c.Int63()%2e11, c.Int63()) },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = time.Unix(c.Int63()%2e11, c.Int63()) },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewScaledQuantity(c.Int63()-c.Int63(), resource.Scale(-c.Intn(10)))
			q.Format = []resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent}[c.Intn(3)]
		},
	).Fill(obj)
	return gvk, obj
}

func fuzzedBytes(c randfill.Continue) []byte {
	text := make([]byte, c.Intn(12))
	for i := range text {
		text[i] = byte(c.Uint64())
	}
	return text
}

func seeds(f *testing.F, add func(kind uint16, data []byte)) {
	f.Helper()
	source := rand.New(rand.NewSource(1))
	for kind := range builtin {
		data := make([]byte, 400)
		source.Read(data)
		add(uint16(kind), data)
	}
}

// FuzzForm looks for objects whose form is not the same after DeepCopy and a
// JSON round trip.
func FuzzForm(f *testing.F) {
	seeds(f, func(kind uint16, data []byte) { f.Add(kind, data) })
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		_, obj := fuzzed(t, kind, data)
		want, err := canon.AppendObject(nil, obj)
		if err != nil {
			require.ErrorContains(t, err, "two keys are")
			return
		}
		require.True(t, json.Valid(want))
		require.Equal(t, string(want), form(t, obj.DeepCopyObject().(canon.Object)), "DeepCopy")
		require.Equal(t, string(want), form(t, throughJSON(t, obj)), "JSON round trip")
	})
}

// FuzzBody looks for bodies that the server, which reads YAML, would not read as
// what they say, and for unstructured content that is not written as it is.
func FuzzBody(f *testing.F) {
	seeds(f, func(kind uint16, data []byte) { f.Add(kind, data, `{"spec":{"a":[1,1.5,null,"x\u2028"]}}`) })
	f.Add(uint16(0), []byte{}, `{"`+strings.Repeat("漢", 1100)+`":{"b":"x"},"c":"y\"\\\u0085\ufffe"}`)
	f.Add(uint16(0), []byte{}, `{"a":1e300,"b":-0.0,"c":12345678901234567890123,"d":{"":[]},"e":1e-9}`)
	f.Fuzz(func(t *testing.T, kind uint16, data []byte, text string) {
		gvk, obj := fuzzed(t, kind, data)
		if body, err := canon.Body(obj, gvk, "uid", "1"); err == nil {
			requireYAML(t, body)
			again := fromJSON(t, obj, body)
			require.Equal(t, form(t, obj), form(t, again))
		}
		u := &unstructured.Unstructured{}
		if json.Unmarshal([]byte(text), &u.Object) != nil || u.Object == nil {
			return
		}
		for _, group := range []string{"apps", "example.org"} {
			u.SetAPIVersion(group + "/v1")
			requireContent(t, u)
		}
	})
}

// requireContent requires that unstructured content is written as it is, null in a built-in
// kind aside.
func requireContent(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	content, err := canon.AppendContent(nil, u)
	if err != nil {
		return
	}
	requireYAML(t, content)
	var got map[string]any
	require.NoError(t, json.Unmarshal(content, &got))
	want := u.DeepCopy().Object
	if !strings.Contains(u.GetAPIVersion(), ".") {
		pruned(want)
	}
	for _, name := range []string{"metadata", "status", "apiVersion", "kind"} {
		delete(want, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// requireYAML requires that text says the same in YAML as it does in JSON.
func requireYAML(t *testing.T, text []byte) {
	t.Helper()
	var asJSON any
	require.NoError(t, json.Unmarshal(text, &asJSON))
	converted, err := yaml.YAMLToJSONStrict(canon.YAML(text))
	require.NoError(t, err)
	var asYAML any
	require.NoError(t, json.Unmarshal(converted, &asYAML))
	if diff := cmp.Diff(asJSON, asYAML); diff != "" {
		t.Fatal(diff)
	}
}

// FuzzSatisfies looks for objects and changes of them on which Satisfies, the
// paths and the forms do not agree.
func FuzzSatisfies(f *testing.F) {
	seeds(f, func(kind uint16, data []byte) { f.Add(kind, data, int64(kind)) })
	f.Fuzz(func(t *testing.T, kind uint16, data []byte, seed int64) {
		gvk, random := fuzzed(t, kind, data)
		if _, err := canon.AppendObject(nil, random); err != nil {
			return
		}
		obj := throughJSON(t, random)
		require.True(t, delta.Satisfies(obj, random, nobodys), "what comes back from the server")
		require.True(t, delta.Satisfies(random, random, nobodys))
		mutated, m := mutate(t, obj, rand.New(rand.NewSource(seed)))
		if mutated == nil {
			return
		}
		requireSameAsTrees(t, obj, mutated)
		requireSameAsTrees(t, mutated, obj)
		before, after := form(t, obj), form(t, mutated)
		require.Equal(t, before == after, len(delta.Diff(obj, mutated, nobodys)) == 0, "%v", m)
		requireAgreement(t, mutated, obj, m)
		requireAgreement(t, obj, mutated, m)
		if m.ofItem() {
			return
		}
		if _, err := canon.Body(obj, gvk, "", ""); err == nil {
			added := contains(parsed(t, after), parsed(t, before))
			require.Equal(t, added, delta.Satisfies(mutated, obj, nobodys), "%v", m)
		}
	})
}

func requireAgreement(t *testing.T, live, desired canon.Object, m mutation) {
	t.Helper()
	satisfied := delta.Satisfies(live, desired, nobodys)
	require.Equal(t, satisfied, len(delta.Unsatisfied(live, desired, nobodys)) == 0, "%v", m)
	if !m.ofItem() && contains(parsed(t, form(t, live)), parsed(t, form(t, desired))) {
		require.True(t, satisfied, "%v", m)
	}
}
