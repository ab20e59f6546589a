package canon_test

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/trueup-go/trueup/internal/canon"
)

// builtin lists every kind of k8s.io/api that is an object, in a fixed order.
var builtin = func() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	object := reflect.TypeFor[canon.Object]()
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if reflect.PointerTo(t).Implements(object) && strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
			kinds = append(kinds, gvk)
		}
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].String() < kinds[j].String() })
	return kinds
}()

func newObject(t require.TestingT, gvk schema.GroupVersionKind) canon.Object {
	obj, err := scheme.Scheme.New(gvk)
	require.NoError(t, err)
	return obj.(canon.Object)
}

// filler fills API objects with values that survive a JSON round trip, empty
// lists and zero times excluded.
func filler(fill *randfill.Filler) *randfill.Filler {
	return fill.NilChance(0.4).NumElements(1, 2).MaxDepth(14).Funcs(
		func(s *string, c randfill.Continue) { *s = randomText(c) },
		func(b *[]byte, c randfill.Continue) { *b = []byte(randomText(c)) },
		func(t *metav1.Time, c randfill.Continue) { t.Time = randomTime(c) },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = randomTime(c) },
		func(q *resource.Quantity, c randfill.Continue) { *q = randomQuantity(c) },
		func(v *intstr.IntOrString, c randfill.Continue) {
			if *v = intstr.FromInt32(int32(c.Intn(3))); c.Bool() {
				*v = intstr.FromString(randomText(c))
			}
		},
		func(r *runtime.RawExtension, c randfill.Continue) {
			r.Raw, _ = json.Marshal(map[string]any{"z": "text", "a": c.Intn(9), "f": 1.5, "n": []any{nil, true}})
		},
		func(f *metav1.FieldsV1, _ randfill.Continue) { _ = f.UnmarshalJSON([]byte(`{"f:spec":{}}`)) },
		func(*metav1.TypeMeta, randfill.Continue) {},
	)
}

func randomText(c randfill.Continue) string {
	texts := []string{
		"", "a", "app", "0", "true", "null", "8080", "http", "<&>", `"\`, "a b", "two\nlines\t",
		"é", "日本", "\u2028", "\u007f", "\ufffe", "𝄞", "a much longer text than the others",
	}
	if c.Intn(4) > 0 {
		return texts[c.Intn(len(texts))]
	}
	return c.String(8)
}

func randomTime(c randfill.Continue) time.Time {
	return time.Unix(int64(c.Intn(1<<31)), int64(c.Intn(1e9))).In(time.FixedZone("", c.Intn(7200)))
}

func randomQuantity(c randfill.Continue) resource.Quantity {
	texts := []string{"0", "1", "1000m", "1500m", "100n", "1Gi", "1024Mi", "1.5Gi", "1G", "12e6", "0.5", "-1", "1e30", "9223372036854775807", "123456789.123456789"}
	return resource.MustParse(texts[c.Intn(len(texts))])
}

// eachBuiltin runs check on random objects of every built-in kind; with -short, of every second one.
func eachBuiltin(t *testing.T, objects int, check func(t *testing.T, gvk schema.GroupVersionKind, obj canon.Object, source *rand.Rand)) {
	t.Helper()
	require.Greater(t, len(builtin), 100, "the scheme is not what it was")
	if testing.Short() {
		objects = 1
	}
	for i, gvk := range builtin {
		if testing.Short() && i%2 == 1 {
			continue
		}
		t.Run(strings.ReplaceAll(gvk.GroupVersion().String(), "/", ".")+"."+gvk.Kind, func(t *testing.T) {
			for seed := range int64(objects) {
				obj := newObject(t, gvk)
				filler(randfill.NewWithSeed(seed)).Fill(obj)
				check(t, gvk, obj, rand.New(rand.NewSource(seed)))
			}
		})
	}
}

// throughJSON returns obj as it is after one trip over the wire.
func throughJSON(t require.TestingT, obj canon.Object) canon.Object {
	text, err := json.Marshal(obj)
	require.NoError(t, err)
	return fromJSON(t, obj, text)
}

func fromJSON(t require.TestingT, like canon.Object, text []byte) canon.Object {
	copied := reflect.New(reflect.TypeOf(like).Elem()).Interface().(canon.Object)
	require.NoError(t, json.Unmarshal(text, copied), string(text))
	return copied
}

func form(t require.TestingT, obj canon.Object) string {
	text, err := canon.AppendObject(nil, obj)
	require.NoError(t, err)
	return string(text)
}

// zero makes obj the zero value of its type.
func zero(obj canon.Object) { reflect.ValueOf(obj).Elem().SetZero() }
