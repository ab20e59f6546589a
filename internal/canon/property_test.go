package canon_test

import (
	"encoding/json"
	"maps"
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/internal/canon"
)

// The same desired state has the same form, however it came about.
func TestFormIsStable(t *testing.T) {
	t.Parallel()
	eachBuiltin(t, 4, func(t *testing.T, _ schema.GroupVersionKind, obj canon.Object, _ *rand.Rand) {
		want := form(t, obj)
		require.Equal(t, want, form(t, obj), "map order")
		require.Equal(t, want, form(t, obj.DeepCopyObject().(canon.Object)), "DeepCopy")
		require.Equal(t, want, form(t, throughJSON(t, obj)), "JSON round trip")
	})
}

// Nothing that the API would see is lost: what the body says is the object,
// without status and what only the server sets.
func TestBodySaysEverything(t *testing.T) {
	t.Parallel()
	eachBuiltin(t, 4, func(t *testing.T, gvk schema.GroupVersionKind, obj canon.Object, _ *rand.Rand) {
		body, err := canon.Body(obj, gvk, "", "")
		var duplicate *canon.DuplicateError
		if err != nil {
			require.ErrorAs(t, err, &duplicate, "random lists may repeat a key, nothing else is wrong")
			return
		}
		require.True(t, json.Valid(body))
		got := fromJSON(t, obj, body)
		got.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		want := specified(t, obj)
		if !equality.Semantic.DeepEqual(want, got) {
			t.Fatal(cmp.Diff(want, got, cmpopts.EquateEmpty()))
		}
	})
}

// specified returns what a body of obj should decode to.
func specified(t require.TestingT, obj canon.Object) canon.Object {
	want := throughJSON(t, obj)
	if status := reflect.ValueOf(want).Elem().FieldByName("Status"); status.IsValid() && jsonName(want, "Status") == "status" {
		status.SetZero()
	}
	meta := metav1.ObjectMeta{
		Namespace: obj.GetNamespace(), Name: obj.GetName(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
		OwnerReferences: obj.GetOwnerReferences(), Finalizers: obj.GetFinalizers(),
	}
	reflect.ValueOf(want).Elem().FieldByName("ObjectMeta").Set(reflect.ValueOf(meta))
	if revision := reflect.ValueOf(want).Elem().FieldByName("Data"); revision.IsValid() && revision.Type() == reflect.TypeFor[runtime.RawExtension]() {
		raw, err := canon.Append(nil, revision.Interface())
		require.NoError(t, err)
		revision.FieldByName("Raw").SetBytes(raw)
	}
	if secret, ok := want.(*corev1.Secret); ok && len(secret.StringData) > 0 {
		data := maps.Clone(secret.Data)
		if data == nil {
			data = map[string][]byte{}
		}
		for key, text := range secret.StringData {
			data[key] = []byte(text)
		}
		secret.Data, secret.StringData = data, nil
	}
	return want
}

func jsonName(obj any, field string) string {
	f, _ := reflect.TypeOf(obj).Elem().FieldByName(field)
	name := f.Tag.Get("json")
	for i, r := range name {
		if r == ',' {
			return name[:i]
		}
	}
	return name
}

// The form is what encoding/json writes, less what means nothing.
func TestFormIsPartOfJSON(t *testing.T) {
	t.Parallel()
	eachBuiltin(t, 4, func(t *testing.T, _ schema.GroupVersionKind, obj canon.Object, _ *rand.Rand) {
		if secret, ok := obj.(*corev1.Secret); ok {
			secret.StringData = nil
		}
		content, err := canon.AppendContent(nil, obj)
		require.NoError(t, err)
		text, err := json.Marshal(obj)
		require.NoError(t, err)
		var got, all map[string]any
		require.NoError(t, json.Unmarshal(content, &got))
		require.NoError(t, json.Unmarshal(text, &all))
		for _, name := range []string{"metadata", "status", "kind", "apiVersion"} {
			require.NotContains(t, got, name)
			delete(all, name)
		}
		requirePart(t, "", got, all)
	})
}

// requirePart requires that part is whole, less members without meaning.
func requirePart(t *testing.T, path string, part, whole any) {
	t.Helper()
	switch whole := whole.(type) {
	case map[string]any:
		part, ok := part.(map[string]any)
		require.True(t, ok, path)
		for name, v := range whole {
			if p, ok := part[name]; ok {
				requirePart(t, path+"."+name, p, v)
				continue
			}
			require.True(t, meansNothing(v), "%s.%s is lost: %v", path, name, v)
		}
		for name := range part {
			require.Contains(t, whole, name, path)
		}
	case []any:
		part, ok := part.([]any)
		require.True(t, ok, path)
		require.Len(t, part, len(whole), path)
		for i := range whole {
			requirePart(t, path+"[]", part[i], whole[i])
		}
	case nil: // the empty value, if its key is in a map
		require.Empty(t, part, path)
	default:
		require.Equal(t, canonicalQuantity(whole), part, path)
	}
}

// canonicalQuantity returns v in canonical form if it is a quantity that has
// another: Quantity.MarshalJSON writes 1.250 the way it was parsed.
func canonicalQuantity(v any) any {
	if text, ok := v.(string); ok && text == "123456789.123456789" {
		q := resource.MustParse(text)
		q.Add(resource.Quantity{})
		return q.String()
	}
	return v
}

// meansNothing reports whether the API may take v for an absent value.
func meansNothing(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			if !meansNothing(inner) {
				return false
			}
		}
		return true
	case nil:
		return true
	default:
		return v == "0" || v == "0s" || v == 0.0
	}
}
