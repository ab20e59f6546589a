package repair_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const fieldOwner = "repair-operator"

// A write is a change of another program to the object.
type write struct {
	by     string
	apply  bool   // by server-side apply, else by a merge patch
	status bool   // of the subresource
	yaml   string // NAME and NAMESPACE stand for the object's
}

// A repairCase is an object with fields of other owners, and the desired state.
type repairCase struct {
	first  string // what is desired at first, in YAML
	others []write
	then   string // what is desired then; as first if it is empty
	// keeps and gains are places with their values afterwards, such as spec.ports[name=http].port=80,
	// and loses places that are not there any more.
	keeps, gains, loses []string
	// from are the managers that lost something.
	from []string
}

// A fixture is a namespace with an operator that ensures one object, for one case.
type fixture struct {
	t       *testing.T
	typed   bool
	key     types.NamespacedName
	client  client.Client
	ensurer *ensure.Ensurer
}

func newFixture(t *testing.T, typed bool, wrap func(client.Client) client.Client) *fixture {
	t.Helper()
	namespace := shared.Namespace(t)
	c := program.Client(t, shared, "operator of "+namespace)
	if wrap != nil {
		c = wrap(c)
	}
	return &fixture{
		t: t, typed: typed, key: types.NamespacedName{Namespace: namespace, Name: "n" + strings.ReplaceAll(namespace, "-", "")},
		client: c, ensurer: ensure.New(c, c, fieldOwner),
	}
}

// parse makes an object of YAML, of a Go type where there is one.
func (f *fixture) parse(text string) client.Object {
	f.t.Helper()
	obj := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(f.fill(text)))
	require.NoError(f.t, err)
	require.NoError(f.t, obj.UnmarshalJSON(data))
	if obj.GetName() == "" {
		obj.SetName(f.key.Name)
	}
	if namespaced, err := f.client.IsObjectNamespaced(obj); err == nil && namespaced {
		obj.SetNamespace(f.key.Namespace)
	}
	if !f.typed {
		return obj
	}
	typed, err := f.client.Scheme().New(obj.GroupVersionKind())
	require.NoError(f.t, err)
	require.NoError(f.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed))
	typed.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	out, _ := typed.(client.Object)
	return out
}

// fill inserts the values that differ between fixtures.
func (f *fixture) fill(text string) string {
	return strings.NewReplacer(
		"NAMESPACE", f.key.Namespace, "NAME", f.key.Name, "BUNDLE", base64.StdEncoding.EncodeToString(shared.Config().CAData),
	).Replace(text)
}

func (f *fixture) ensure(text string, opts ...ensure.Option) (ensure.Result[client.Object], error) {
	f.t.Helper()
	return ensure.Object(f.t.Context(), f.ensurer, f.parse(text), opts...)
}

// mustEnsure repeats a call that meets a conflict, as operators do: a built-in controller may write the status
// at any time.
func (f *fixture) mustEnsure(text string) ensure.Result[client.Object] {
	f.t.Helper()
	var res ensure.Result[client.Object]
	require.NoError(f.t, shared.Await(f.t.Context(), time.Minute, f.key.Namespace, func(context.Context) error {
		var err error
		if res, err = f.ensure(text); ensure.Reason(err) == "Conflict" {
			return err
		}
		require.NoError(f.t, err, "%s", explain(err))
		return nil
	}))
	return res
}

// explain returns the server's own message.
func explain(err error) string {
	var text []string
	for ; err != nil; err = unwrap(err) {
		text = append(text, err.Error())
	}
	return strings.Join(text, "\n  ")
}

func unwrap(err error) error {
	if w, ok := err.(interface{ Unwrap() error }); ok {
		return w.Unwrap()
	}
	if w, ok := err.(interface{ Unwrap() []error }); ok && len(w.Unwrap()) > 0 {
		return w.Unwrap()[len(w.Unwrap())-1]
	}
	return nil
}

// write changes the object as another program.
func (f *fixture) write(like string, w write) {
	f.t.Helper()
	plain := *f
	plain.typed = false
	obj, _ := plain.parse(like).(*unstructured.Unstructured)
	c := program.Client(f.t, shared, w.by)
	data, err := yaml.YAMLToJSON([]byte(f.fill(w.yaml)))
	require.NoError(f.t, err)
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(obj.GroupVersionKind())
	target.SetName(obj.GetName())
	target.SetNamespace(obj.GetNamespace())
	if w.apply {
		var body map[string]any
		require.NoError(f.t, json.Unmarshal(data, &body))
		body["apiVersion"], body["kind"] = obj.GetAPIVersion(), obj.GetKind()
		data, err = json.Marshal(body)
		require.NoError(f.t, err)
		require.NoError(f.t, c.Patch(f.t.Context(), target, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner(w.by)), "%s", w.yaml)
		return
	}
	form := types.MergePatchType
	if f.client.Scheme().Recognizes(obj.GroupVersionKind()) {
		form = types.StrategicMergePatchType
	}
	if w.status {
		require.NoError(f.t, c.Status().Patch(f.t.Context(), target, client.RawPatch(types.MergePatchType, data), client.FieldOwner(w.by)), "%s", w.yaml)
		return
	}
	require.NoError(f.t, c.Patch(f.t.Context(), target, client.RawPatch(form, data), client.FieldOwner(w.by)), "%s", w.yaml)
}

// live returns the live object.
func (f *fixture) live(like string) *unstructured.Unstructured {
	f.t.Helper()
	plain := *f
	plain.typed = false
	obj, _ := plain.parse(like).(*unstructured.Unstructured)
	require.NoError(f.t, f.client.Get(f.t.Context(), client.ObjectKeyFromObject(obj), obj))
	return obj
}

// at returns the value at a place such as spec.ports[name=http].port; nil if there is none.
func at(value any, place string) any {
	for _, step := range strings.FieldsFunc(place, func(r rune) bool { return r == '.' || r == '[' }) {
		key, isItem := strings.CutSuffix(step, "]")
		switch parent := value.(type) {
		case map[string]any:
			value = parent[strings.ReplaceAll(key, "/", ".")]
		case []any:
			if !isItem {
				return nil
			}
			name, wanted, _ := strings.Cut(key, "=")
			i := slices.IndexFunc(parent, func(item any) bool {
				members, _ := item.(map[string]any)
				return fmt.Sprint(members[name]) == wanted
			})
			if n, err := strconv.Atoi(key); err == nil && n < len(parent) {
				i = n
			}
			if i < 0 {
				return nil
			}
			value = parent[i]
		default:
			return nil
		}
	}
	return value
}

func requireAt(t *testing.T, obj *unstructured.Unstructured, places ...string) {
	t.Helper()
	for _, place := range places {
		end := strings.LastIndex(place, "=")
		path, want := place[:end], place[end+1:]
		require.Equal(t, want, fmt.Sprint(at(obj.Object, path)), "%s in %v", path, obj.Object)
	}
}

// run runs a case and requires that only conflicting fields are removed.
func (f *fixture) run(tc repairCase) {
	f.t.Helper()
	f.mustEnsure(tc.first)
	for _, w := range tc.others {
		f.write(tc.first, w)
	}
	before := f.live(tc.first)
	requireAt(f.t, before, tc.keeps...)
	desired := tc.then
	if desired == "" {
		desired = tc.first
	}
	planned, err := f.ensure(desired, ensure.DryRun())
	require.NoError(f.t, err, "%s", explain(err))
	require.Equal(f.t, specified(before), specified(f.live(desired)), "a dry run")

	res, err := f.ensureAllowingRecreation(desired)
	require.NoError(f.t, err, "%s", explain(err))
	require.Equal(f.t, ensure.Updated, res.Operation)
	after := f.live(desired)
	require.Equal(f.t, before.GetUID(), after.GetUID(), "nothing is deleted")
	requireAt(f.t, after, tc.keeps...)
	requireAt(f.t, after, tc.gains...)
	for _, place := range tc.loses {
		require.Nil(f.t, at(after.Object, place), place)
	}
	for _, result := range []ensure.Result[client.Object]{planned, res} {
		require.ElementsMatch(f.t, tc.from, managersIn(result.Changes), "%v", result.Changes)
	}
	for _, entry := range after.GetManagedFields() {
		require.False(f.t, entry.Manager == fieldOwner && entry.Operation == "Update", "an entry of updates is left")
	}
	require.Equal(f.t, ensure.Unchanged, f.mustEnsure(desired).Operation)
	require.Equal(f.t, specified(after), specified(f.live(desired)))
}

// specified returns the fields that people and programs other than controllers write, with their
// owners.
func specified(obj *unstructured.Unstructured) map[string]any {
	owners := map[string]string{}
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != "kube-controller-manager" && entry.Subresource == "" {
			owners[entry.Manager+" "+string(entry.Operation)] = string(managedfields.Raw(entry.FieldsV1))
		}
	}
	return map[string]any{"uid": obj.GetUID(), "labels": obj.GetLabels(), "spec": obj.Object["spec"], "owners": owners}
}

// ensureAllowingRecreation ensures with every option that permits a deletion, which is only for
// immutable fields.
func (f *fixture) ensureAllowingRecreation(text string) (ensure.Result[client.Object], error) {
	f.t.Helper()
	desired := f.parse(text)
	return ensure.Object(f.t.Context(), f.ensurer, desired,
		ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift, ensure.DeleteData))
}

// managersIn returns the managers that lost fields.
func managersIn(changes []ensure.Change) []string {
	var managers []string
	for _, change := range changes {
		if change.Manager != "" && !slices.Contains(managers, change.Manager) {
			managers = append(managers, change.Manager)
		}
	}
	return managers
}
