package content_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// TestEveryRune: the server stores each rune of desired unchanged.
func TestEveryRune(t *testing.T) {
	t.Parallel()
	const perObject = 0x10000 // an object holds a megabyte and a half
	f := newFixture(t)
	for plane := rune(0); plane <= utf8.MaxRune; plane += perObject {
		if testing.Short() && plane > 0 && plane < utf8.MaxRune-perObject {
			continue
		}
		var text strings.Builder
		for r := plane; r < plane+perObject; r++ {
			if utf8.ValidRune(r) {
				text.WriteRune(r)
			}
		}
		desired := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprintf("plane-%x", plane>>16)},
			Data:       map[string]string{"text": text.String()},
		}
		_, err := ensure.Object(t.Context(), f.ensurer, desired)
		require.NoError(t, err)
		live := &corev1.ConfigMap{}
		require.NoError(t, f.client.Get(t.Context(), client.ObjectKeyFromObject(desired), live))
		if live.Data["text"] != text.String() {
			t.Errorf("the runes from %U on are not stored as desired has them", plane)
		}
	}
}

// TestLongText: text that is not ASCII takes as much of a request as of the object.
func TestLongText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	desired := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "long"},
		Data:       map[string]string{"text": strings.Repeat("ü", 1<<19-len("text")/2)},
	}
	for _, want := range []ensure.Operation{ensure.Created, ensure.Unchanged} {
		res, err := ensure.Object(t.Context(), f.ensurer, desired)
		require.NoError(t, err)
		require.Equal(t, want, res.Operation)
	}
}

// TestLongKeys: a key may exceed the length limit of YAML keys.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	program.Define(t, shared, things, thingKind)
	f := newFixture(t)
	for _, c := range "kü漢\u0085\U0001f600" {
		for _, length := range []int{1020, 1021, 1022, 1023, 1024, 1025, 5000} {
			key := strings.Repeat(string(c), length)
			desired := f.thing(fmt.Sprintf("key-%x-%d", c, length), map[string]any{"any": map[string]any{
				"a": int64(1), key: map[string]any{key: "nested", "b": "x"}, "z": []any{map[string]any{key: "item", "y": "x"}},
			}})
			mark := shared.Mark()
			_, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
			require.NoError(t, err)
			require.Len(t, f.requests(mark), 2, "read and create")
			want, _, _ := unstructured.NestedMap(desired.Object, "spec", "any")
			got, _, _ := unstructured.NestedMap(f.live(desired).Object, "spec", "any")
			require.True(t, reflect.DeepEqual(want, got), "%q, %d times", c, length)
			res, err := ensure.Object(t.Context(), f.ensurer, desired.DeepCopy())
			require.NoError(t, err)
			require.Equal(t, ensure.Unchanged, res.Operation)
		}
	}
}
