package conformance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// zeroTable lists the fields that a Go type cannot leave out and set to zero in different ways: no
// pointers, with omitempty. Each line says what a user can do with the field in an object of ours
// that does not set it, as far as the trials below find a way:
//
//	set      the server accepts a value, which stays, as desired does not specify the field
//	stated   the server accepts a value, which is drift: leaving the field out means zero
//	refused  the server accepts none of the values tried
//	default  the server sets the field, or our objects do
//	untried  the field is in a part that none of our objects has
//
// Only the value of an environment variable may be stated: see TestEmptyVariables in
// test/suites/ensure/content.
const zeroTable = "testdata/zero.txt"

// maxTries bounds in how many places a field is tried.
const maxTries = 3

// A zeroField is a field of zeroTable, and its possible place in an object.
type zeroField struct {
	name  string // core/v1.PodSpec.hostPID
	steps []string
	kind  reflect.Type
}

// TestZeroFields fails for a field that is missing from the table because a newer k8s.io/api added
// it, and for a field with another verdict. UPDATE=1 writes the table.
func TestZeroFields(t *testing.T) {
	if !consistency.IsSupported() {
		t.Skip("the fields are those of the newest k8s.io/api, which comes with controller-runtime v0.25")
	}
	require.NoError(t, prepare())
	found, tries := map[string]string{}, map[string]int{}
	for _, k := range kindCases() {
		desired := k.desired()
		goType := reflect.TypeOf(desired).Elem()
		if !strings.HasPrefix(goType.PkgPath(), "k8s.io/api/") {
			continue
		}
		namespace := shared.Namespace(t)
		if k.rename != nil {
			k.rename(desired, namespace)
		} else {
			desired.SetNamespace(namespace)
		}
		wanted, _ := desired.DeepCopyObject().(client.Object) // which the server does not fill in
		require.NoError(t, admin.Create(t.Context(), desired), k.name)
		t.Cleanup(func() { _ = admin.Delete(t.Context(), desired) })
		live := &unstructured.Unstructured{}
		gvk, err := admin.GroupVersionKindFor(desired)
		require.NoError(t, err)
		live.SetGroupVersionKind(gvk)
		require.NoError(t, admin.Get(t.Context(), client.ObjectKeyFromObject(desired), live))
		for _, field := range zeroFields(goType, nil, nil) {
			if rank(found[field.name]) < rank("set") && tries[field.name] < maxTries {
				said := verdict(t, live, wanted, field)
				if said != "untried" {
					tries[field.name]++
				}
				if rank(said) > rank(found[field.name]) {
					found[field.name] = said
				}
			}
		}
	}
	var lines []string
	for name, said := range found {
		lines = append(lines, name+" "+said+"\n")
	}
	sort.Strings(lines)
	got := strings.Join(lines, "")
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(zeroTable, []byte(got), 0o600))
	}
	want, err := os.ReadFile(zeroTable)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(strings.SplitAfter(string(want), "\n"), strings.SplitAfter(got, "\n")), "UPDATE=1 writes %s", zeroTable)
	require.Greater(t, len(lines), 100)
}

// zeroFields returns the zero fields below a type, each with the first path that leads to it.
func zeroFields(t reflect.Type, steps []string, above []reflect.Type) []zeroField {
	switch t.Kind() {
	case reflect.Pointer:
		return zeroFields(t.Elem(), steps, above)
	case reflect.Slice:
		return zeroFields(t.Elem(), append(slices.Clone(steps), "0"), above)
	case reflect.Struct:
	default:
		return nil
	}
	if slices.Contains(above, t) || isLeaf(t) {
		return nil
	}
	var fields []zeroField
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := append(slices.Clone(steps), name)
		switch {
		case slices.Contains([]string{"metadata", "status"}, name), name == "" && len(steps) == 0:
		case name == "" && field.Anonymous:
			fields = append(fields, zeroFields(field.Type, steps, append(above, t))...)
		case isLeaf(field.Type):
			if strings.Contains(options, "omitempty") {
				owner := path.Base(path.Dir(t.PkgPath())) + "/" + path.Base(t.PkgPath()) + "." + t.Name()
				fields = append(fields, zeroField{name: owner + "." + name, steps: at, kind: field.Type})
			}
		default:
			fields = append(fields, zeroFields(field.Type, at, append(slices.Clone(above), t))...)
		}
	}
	return fields
}

// isLeaf reports whether values of a type are scalars in JSON, and none can be nil.
func isLeaf(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return true
	case reflect.Struct:
		return slices.Contains([]string{"Quantity", "IntOrString", "Time", "MicroTime", "Duration"}, t.Name())
	default:
		return false
	}
}

// verdict returns whether the server accepts a value for an unset field, and whether live still
// satisfies wanted.
func verdict(t *testing.T, live *unstructured.Unstructured, wanted client.Object, field zeroField) string {
	t.Helper()
	last := len(field.steps) - 1
	if around, there := valueAt(live.Object, field.steps[:last]); !there || around == nil {
		return "untried"
	}
	if _, there := valueAt(live.Object, field.steps); there {
		return "default"
	}
	for _, value := range zeroTrials(field) {
		data, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/" + strings.Join(field.steps, "/"), "value": value}})
		require.NoError(t, err)
		tried := live.DeepCopy()
		err = admin.Patch(t.Context(), tried, client.RawPatch(types.JSONPatchType, data), client.DryRunAll)
		if got, there := valueAt(tried.Object, field.steps); err == nil && there && fmt.Sprint(got) == fmt.Sprint(value) {
			if len(unsatisfied(t, tried, wanted)) > len(unsatisfied(t, live, wanted)) {
				return "stated"
			}
			return "set"
		}
	}
	return "refused"
}

// unsatisfied returns the parts of wanted that live lacks, as ensure compares them.
func unsatisfied(t *testing.T, live *unstructured.Unstructured, wanted client.Object) []delta.Change {
	t.Helper()
	typed, _ := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(wanted).Elem()))
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, typed))
	return delta.Unsatisfied(typed, wanted, managedfields.Owned{})
}

// rank orders verdicts: a more definite verdict ranks higher.
func rank(verdict string) int {
	return slices.Index([]string{"", "untried", "default", "refused", "set", "stated"}, verdict)
}

func valueAt(v any, steps []string) (any, bool) {
	for _, step := range steps {
		switch parent := v.(type) {
		case map[string]any:
			next, ok := parent[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			if len(parent) == 0 {
				return nil, false
			}
			v = parent[0]
		default:
			return nil, false
		}
	}
	return v, true
}

// zeroTrials are values that a field may take.
func zeroTrials(field zeroField) []any {
	switch field.kind.Kind() {
	case reflect.Bool:
		return []any{true}
	case reflect.String:
		return []any{
			"x", "/x", "1", "10.96.0.77", "10.0.0.0/8", "example.com", "web", "Always", "Never", "Exists", "Equal", "TCP", "Local", "Default", "Retain", "File",
			"Recreate", "OnDelete", "None", "Parallel", "HostToContainer", "ClusterIP", "NodePort", "Exact", "Ignore", "NoSchedule", "Memory", "HTTPS", "Directory",
		}
	case reflect.Struct:
		return []any{"1", int64(1), "1s", "2026-01-02T03:04:05Z"}
	default:
		return []any{int64(1), int64(30123), int64(100), int64(1000)}
	}
}
