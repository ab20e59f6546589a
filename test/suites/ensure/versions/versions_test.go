package versions_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const fieldOwner = "dial-operator"

// A fixture is a namespace with one Dial, which an operator ensures and others write to.
type fixture struct {
	*kind
	namespace string
	typed     bool
	wrap      func(client.Client) client.Client
}

func newFixture(t *testing.T, typed bool) *fixture {
	t.Helper()
	return &fixture{kind: newKind(t, groupOf(t)), namespace: shared.Namespace(t), typed: typed}
}

// operator is a new process of the operator's, of a version.
func (f *fixture) operator(version string) *ensure.Ensurer {
	f.t.Helper()
	typedVersion := ""
	if f.typed {
		typedVersion = version
	}
	c := f.client(f.agent(), typedVersion)
	reader := client.Reader(c)
	if f.wrap != nil {
		c = f.wrap(c)
	}
	return ensure.New(c, reader, fieldOwner)
}

func (f *fixture) agent() string { return "operator of " + f.namespace }

func (f *fixture) desired(version string, spec DialSpec) client.Object {
	f.t.Helper()
	if f.typed {
		return &Dial{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "dial"}, Spec: spec}
	}
	text, err := yaml.Marshal(spec)
	require.NoError(f.t, err)
	fields := map[string]any{}
	require.NoError(f.t, yaml.Unmarshal(text, &fields))
	u := f.dial(version, f.namespace, "dial")
	u.Object["spec"] = fields
	return u
}

func (f *fixture) mustEnsure(e *ensure.Ensurer, version string, spec DialSpec, opts ...ensure.Option) ensure.Result[client.Object] {
	f.t.Helper()
	res, err := ensure.Object(f.t.Context(), e, f.desired(version, spec), opts...)
	require.NoError(f.t, err, "%v", errors.Unwrap(err))
	return res
}

// write is by another program: a merge patch, an apply, or a merge patch of the status.
func (f *fixture) write(by, version, text string) {
	f.t.Helper()
	c, target := f.client(by, ""), f.dial(version, f.namespace, "dial")
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(f.t, err)
	switch patch := client.RawPatch(types.MergePatchType, data); by {
	case "gitops":
		body := f.dial(version, f.namespace, "dial")
		delete(body.Object, "spec")
		require.NoError(f.t, yaml.Unmarshal(data, &body.Object))
		data, err = body.MarshalJSON()
		require.NoError(f.t, err)
		require.NoError(f.t, c.Patch(f.t.Context(), target, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner(by)))
	case "dial-controller":
		require.NoError(f.t, c.Status().Patch(f.t.Context(), target, patch))
	default:
		require.NoError(f.t, c.Patch(f.t.Context(), target, patch))
	}
}

func (f *fixture) live() *unstructured.Unstructured {
	f.t.Helper()
	live := f.dial("v2", f.namespace, "dial")
	require.NoError(f.t, f.client("kubectl-edit", "").Get(f.t.Context(), client.ObjectKeyFromObject(live), live))
	return live
}

// owners returns the fields of the other owners, whatever the version.
func (f *fixture) owners() map[string]string {
	f.t.Helper()
	sets := map[string]*fieldpath.Set{}
	for _, entry := range f.live().GetManagedFields() {
		if entry.Manager == fieldOwner && string(entry.FieldsV1.GetRawBytes()) == `{"f:spec":{"f:unit":{}}}` {
			continue // the default was stored with a write of ours, and is booked so
		}
		if entry.Manager == fieldOwner {
			require.Equal(f.t, metav1.ManagedFieldsOperationApply, entry.Operation)
			continue
		}
		key := entry.Manager + " " + string(entry.Operation) + " " + entry.Subresource
		if sets[key] == nil {
			sets[key] = fieldpath.NewSet()
		}
		fields := fieldpath.NewSet()
		require.NoError(f.t, fields.FromJSON(entry.FieldsV1.GetRawReader()))
		sets[key] = sets[key].Union(fields)
	}
	owners := map[string]string{}
	for key, fields := range sets {
		owners[key] = fields.String()
	}
	return owners
}

// othersWrite writes the status, an annotation, a label, and a user's addition as other field
// owners.
func (f *fixture) othersWrite() {
	f.t.Helper()
	f.write("dial-controller", "v1", `status: {phase: Up}`)
	f.write("gitops", "v1", `metadata: {name: dial, namespace: `+f.namespace+`, labels: {theirs: x}}`)
	f.write("kubectl-edit", "v1", `{metadata: {annotations: {theirs: x}}, spec: {marks: {one: here}}}`)
}

var (
	red  = DialSpec{Color: "red", Size: 1}
	blue = DialSpec{Color: "blue"}
)

// brokenConversions are the ways in which versions of a kind end all applies.
var brokenConversions = map[string]func(*fixture){
	"a default in a new version": func(f *fixture) {
		f.addVersion()
		f.write("kubectl-edit", "v2", `spec: {marks: {two: here}}`) // it is stored in the new version
		f.addDefault()
	},
	"a version is gone": func(f *fixture) {
		f.addVersion()
		f.write("kubectl-edit", "v2", `spec: {marks: {two: here}}`)
		f.dropVersion()
		f.awaitBrokenApply()
	},
}

// awaitBrokenApply waits until the server refuses applies. For a moment after a version is gone from
// discovery, the server may still convert to this version.
func (f *fixture) awaitBrokenApply() {
	f.t.Helper()
	c, dial := f.client("installer", ""), f.dial("v2", f.namespace, "dial")
	text, err := dial.MarshalJSON()
	require.NoError(f.t, err)
	require.NoError(f.t, shared.Await(f.t.Context(), limit, "", func(ctx context.Context) error {
		err := c.Patch(ctx, dial.DeepCopy(), client.RawPatch(types.ApplyPatchType, text), client.FieldOwner("installer"), client.DryRunAll)
		if refused, ok := errors.AsType[*apierrors.StatusError](err); ok && refused.ErrStatus.Code == http.StatusInternalServerError {
			return nil
		}
		return errors.Join(errors.New("an apply is not refused"), err)
	}))
}

func forEachBrokenConversion(t *testing.T, test func(t *testing.T, f *fixture, breakIt func(*fixture))) {
	t.Helper()
	for name, breakIt := range brokenConversions {
		for form, typed := range map[string]bool{"typed": true, "unstructured": false} {
			t.Run(name+" "+form, func(t *testing.T) {
				t.Parallel()
				test(t, newFixture(t, typed), breakIt)
			})
		}
	}
}

// TestApply: a change of desired arrives, and nobody loses a field.
func TestApply(t *testing.T) {
	t.Parallel()
	forEachBrokenConversion(t, func(t *testing.T, f *fixture, breakIt func(*fixture)) {
		t.Helper()
		f.mustEnsure(f.operator("v1"), "v1", red)
		f.othersWrite()
		breakIt(f)
		owners := f.owners()
		require.Len(t, owners, 3)

		e := f.operator("v2")
		planned := f.mustEnsure(e, "v2", blue, ensure.DryRun())
		mark := shared.Mark()
		res := f.mustEnsure(e, "v2", blue)
		require.Equal(t, map[string]int{"get dials": 2, "patch dials": 3}, f.requests(mark), "the cache's read is one of them")
		for _, result := range []ensure.Result[client.Object]{planned, res} {
			require.Equal(t, ensure.Updated, result.Operation)
			require.ElementsMatch(t, []string{"spec.color", "spec.size"}, pathsOf(result))
		}
		require.Empty(t, cmp.Diff(owners, f.owners()))
		spec := f.live().Object["spec"].(map[string]any)
		require.Equal(t, "blue", spec["color"])
		require.NotContains(t, spec, "size", "what desired drops goes")
		require.Equal(t, map[string]any{"one": "here", "two": "here"}, spec["marks"])

		mark = shared.Mark()
		require.Equal(t, ensure.Unchanged, f.mustEnsure(e, "v2", blue).Operation)
		require.Equal(t, map[string]int{"get dials": 1}, f.requests(mark))
	})
}

func (f *fixture) requests(mark cluster.Mark) map[string]int {
	f.t.Helper()
	return cluster.Counts(program.Requests(f.t, shared, mark, f.agent()))
}

// pathsOf leaves out where the digest is.
func pathsOf(result ensure.Result[client.Object]) []string {
	var paths []string
	for _, change := range result.Changes {
		if change.Path != "metadata.annotations[spec-hash.trueup-go.github.io/"+fieldOwner+"]" {
			paths = append(paths, change.Path)
		}
	}
	return paths
}

// TestStatusAlone: one entry of the version, of another owner's status, is enough.
func TestStatusAlone(t *testing.T) {
	t.Parallel()
	forEachBrokenConversion(t, func(t *testing.T, f *fixture, breakIt func(*fixture)) {
		t.Helper()
		f.mustEnsure(f.operator("v1"), "v1", red)
		f.write("dial-controller", "v1", `status: {phase: Up}`)
		f.addVersion()
		f.mustEnsure(f.operator("v2"), "v2", DialSpec{Color: "green"})
		breakIt(f)
		owners := f.owners()
		require.Equal(t, ensure.Updated, f.mustEnsure(f.operator("v2"), "v2", blue).Operation)
		require.Empty(t, cmp.Diff(owners, f.owners()))
	})
}

// TestBreaksOff: any write may fail, before or after the server has done it. The next pass of
// another process completes the work, and no owner loses a field.
func TestBreaksOff(t *testing.T) {
	t.Parallel()
	for at := range 3 { // the apply, the patch, the apply
		for name, done := range map[string]bool{"before": false, "after": true} {
			t.Run(name+string(rune('1'+at)), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, at%2 == 0)
				f.mustEnsure(f.operator("v1"), "v1", red)
				f.othersWrite()
				brokenConversions["a version is gone"](f)
				owners := f.owners()
				f.wrap = func(c client.Client) client.Client {
					return &program.FailingClient{Client: c, FailAt: at, Delivered: done}
				}
				_, err := ensure.Object(t.Context(), f.operator("v2"), f.desired("v2", blue))
				require.ErrorIs(t, err, program.ErrConnectionLost)
				require.Empty(t, cmp.Diff(owners, f.owners()))

				f.wrap = nil
				f.mustEnsure(f.operator("v2"), "v2", blue)
				require.Empty(t, cmp.Diff(owners, f.owners()))
				require.NotContains(t, f.live().Object["spec"], "size")
			})
		}
	}
}
