package versions_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
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

// A bench has one Dial, which an operator ensures and others write to.
type bench struct {
	*kind
	namespace string
	typed     bool
	wrap      func(client.Client) client.Client
}

func newBench(t *testing.T, typed bool) *bench {
	t.Helper()
	return &bench{kind: newKind(t, groupOf(t)), namespace: shared.Namespace(t), typed: typed}
}

// operator is a new process of the operator's, of a version.
func (b *bench) operator(version string) *ensure.Ensurer {
	b.t.Helper()
	typedVersion := ""
	if b.typed {
		typedVersion = version
	}
	c := b.client(b.agent(), typedVersion)
	reader := client.Reader(c)
	if b.wrap != nil {
		c = b.wrap(c)
	}
	return ensure.New(c, reader, fieldOwner)
}

func (b *bench) agent() string { return "operator of " + b.namespace }

func (b *bench) desired(version string, spec DialSpec) client.Object {
	b.t.Helper()
	if b.typed {
		return &Dial{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "dial"}, Spec: spec}
	}
	text, err := yaml.Marshal(spec)
	require.NoError(b.t, err)
	fields := map[string]any{}
	require.NoError(b.t, yaml.Unmarshal(text, &fields))
	u := b.dial(version, b.namespace, "dial")
	u.Object["spec"] = fields
	return u
}

func (b *bench) mustEnsure(e *ensure.Ensurer, version string, spec DialSpec, opts ...ensure.Option) ensure.Result[client.Object] {
	b.t.Helper()
	res, err := ensure.Object(b.t.Context(), e, b.desired(version, spec), opts...)
	require.NoError(b.t, err, "%v", errors.Unwrap(err))
	return res
}

// write is by another program: a merge patch, an apply, or a merge patch of the status.
func (b *bench) write(by, version, text string) {
	b.t.Helper()
	c, target := b.client(by, ""), b.dial(version, b.namespace, "dial")
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(b.t, err)
	switch patch := client.RawPatch(types.MergePatchType, data); by {
	case "gitops":
		body := b.dial(version, b.namespace, "dial")
		delete(body.Object, "spec")
		require.NoError(b.t, yaml.Unmarshal(data, &body.Object))
		data, err = body.MarshalJSON()
		require.NoError(b.t, err)
		require.NoError(b.t, c.Patch(b.t.Context(), target, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner(by)))
	case "dial-controller":
		require.NoError(b.t, c.Status().Patch(b.t.Context(), target, patch))
	default:
		require.NoError(b.t, c.Patch(b.t.Context(), target, patch))
	}
}

func (b *bench) live() *unstructured.Unstructured {
	b.t.Helper()
	live := b.dial("v2", b.namespace, "dial")
	require.NoError(b.t, b.client("person", "").Get(b.t.Context(), client.ObjectKeyFromObject(live), live))
	return live
}

// owners returns the fields of the other owners, whatever the version.
func (b *bench) owners() map[string]string {
	b.t.Helper()
	sets := map[string]*fieldpath.Set{}
	for _, entry := range b.live().GetManagedFields() {
		if entry.Manager == fieldOwner && string(entry.FieldsV1.GetRawBytes()) == `{"f:spec":{"f:unit":{}}}` {
			continue // the default was stored with a write of ours, and is booked so
		}
		if entry.Manager == fieldOwner {
			require.Equal(b.t, metav1.ManagedFieldsOperationApply, entry.Operation)
			continue
		}
		key := entry.Manager + " " + string(entry.Operation) + " " + entry.Subresource
		if sets[key] == nil {
			sets[key] = fieldpath.NewSet()
		}
		fields := fieldpath.NewSet()
		require.NoError(b.t, fields.FromJSON(entry.FieldsV1.GetRawReader()))
		sets[key] = sets[key].Union(fields)
	}
	owners := map[string]string{}
	for key, fields := range sets {
		owners[key] = fields.String()
	}
	return owners
}

// othersWrite writes the status, an annotation, a label, and a person's addition as other field
// owners.
func (b *bench) othersWrite() {
	b.t.Helper()
	b.write("dial-controller", "v1", `status: {phase: Up}`)
	b.write("gitops", "v1", `metadata: {name: dial, namespace: `+b.namespace+`, labels: {theirs: x}}`)
	b.write("person", "v1", `{metadata: {annotations: {theirs: x}}, spec: {marks: {one: here}}}`)
}

var (
	red  = DialSpec{Color: "red", Size: 1}
	blue = DialSpec{Color: "blue"}
)

// breaks are the ways in which versions of a kind end all applies.
var breaks = map[string]func(*bench){
	"a default in a new version": func(b *bench) {
		b.addVersion()
		b.write("person", "v2", `spec: {marks: {two: here}}`) // it is stored in the new version
		b.addDefault()
	},
	"a version is gone": func(b *bench) {
		b.addVersion()
		b.write("person", "v2", `spec: {marks: {two: here}}`)
		b.dropVersion()
	},
}

func forEachBreak(t *testing.T, test func(t *testing.T, b *bench, breakIt func(*bench))) {
	t.Helper()
	for name, breakIt := range breaks {
		for form, typed := range map[string]bool{"typed": true, "unstructured": false} {
			t.Run(name+" "+form, func(t *testing.T) {
				t.Parallel()
				test(t, newBench(t, typed), breakIt)
			})
		}
	}
}

// TestApply: a change of desired arrives, and nobody loses a field.
func TestApply(t *testing.T) {
	t.Parallel()
	forEachBreak(t, func(t *testing.T, b *bench, breakIt func(*bench)) {
		t.Helper()
		b.mustEnsure(b.operator("v1"), "v1", red)
		b.othersWrite()
		breakIt(b)
		owners := b.owners()
		require.Len(t, owners, 3)

		e := b.operator("v2")
		planned := b.mustEnsure(e, "v2", blue, ensure.DryRun())
		mark := shared.Mark()
		res := b.mustEnsure(e, "v2", blue)
		require.Equal(t, map[string]int{"get dials": 2, "patch dials": 3}, b.requests(mark), "the cache's read is one of them")
		for _, result := range []ensure.Result[client.Object]{planned, res} {
			require.Equal(t, ensure.Updated, result.Operation)
			require.ElementsMatch(t, []string{"spec.color", "spec.size"}, pathsOf(result))
		}
		require.Empty(t, cmp.Diff(owners, b.owners()))
		spec := b.live().Object["spec"].(map[string]any)
		require.Equal(t, "blue", spec["color"])
		require.NotContains(t, spec, "size", "what desired drops goes")
		require.Equal(t, map[string]any{"one": "here", "two": "here"}, spec["marks"])

		mark = shared.Mark()
		require.Equal(t, ensure.Unchanged, b.mustEnsure(e, "v2", blue).Operation)
		require.Equal(t, map[string]int{"get dials": 1}, b.requests(mark))
	})
}

func (b *bench) requests(mark cluster.Mark) map[string]int {
	b.t.Helper()
	return cluster.Counts(program.Requests(b.t, shared, mark, b.agent()))
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
	forEachBreak(t, func(t *testing.T, b *bench, breakIt func(*bench)) {
		t.Helper()
		b.mustEnsure(b.operator("v1"), "v1", red)
		b.write("dial-controller", "v1", `status: {phase: Up}`)
		b.addVersion()
		b.mustEnsure(b.operator("v2"), "v2", DialSpec{Color: "green"})
		breakIt(b)
		owners := b.owners()
		require.Equal(t, ensure.Updated, b.mustEnsure(b.operator("v2"), "v2", blue).Operation)
		require.Empty(t, cmp.Diff(owners, b.owners()))
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
				b := newBench(t, at%2 == 0)
				b.mustEnsure(b.operator("v1"), "v1", red)
				b.othersWrite()
				breaks["a version is gone"](b)
				owners := b.owners()
				b.wrap = func(c client.Client) client.Client { return &program.Broken{Client: c, At: at, Done: done} }
				_, err := ensure.Object(t.Context(), b.operator("v2"), b.desired("v2", blue))
				require.ErrorIs(t, err, program.ErrBroken)
				require.Empty(t, cmp.Diff(owners, b.owners()))

				b.wrap = nil
				b.mustEnsure(b.operator("v2"), "v2", blue)
				require.Empty(t, cmp.Diff(owners, b.owners()))
				require.NotContains(t, b.live().Object["spec"], "size")
			})
		}
	}
}
