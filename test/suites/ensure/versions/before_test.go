package versions_test

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// A step is a write of ours that patches managed fields before it applies.
type step struct {
	prepare func(*fixture)
	spec    DialSpec
	opts    []ensure.Option
	after   func(t *testing.T, owners map[string]string, spec map[string]any)
}

// steps are all of them.
var steps = map[string]step{
	"Retire": {
		prepare: func(f *fixture) { f.write("old-operator", "v1", `spec: {marks: {old: x}}`) },
		spec:    blue,
		opts:    []ensure.Option{ensure.MigrateFrom("old-operator"), ensure.Retire("spec.marks.old")},
		after: func(t *testing.T, owners map[string]string, spec map[string]any) {
			t.Helper()
			delete(owners, "old-operator Update ")
			require.NotContains(t, spec["marks"], "old")
		},
	},
	"Release": {
		prepare: func(*fixture) {},
		spec:    blue,
		opts:    []ensure.Option{ensure.Release("spec.size")},
		after: func(t *testing.T, owners map[string]string, spec map[string]any) {
			t.Helper()
			owners[fieldOwner+"-released Update "] = ".spec.size"
			require.EqualValues(t, 1, spec["size"])
		},
	},
	"a repair": {
		prepare: func(f *fixture) { f.write("heater", "v1", `spec: {heat: warm}`) },
		spec:    blue,
		after: func(t *testing.T, owners map[string]string, spec map[string]any) {
			t.Helper()
			delete(owners, "heater Update ")
			require.NotContains(t, spec, "heat")
		},
	},
	"a field that the old version lacks": {
		prepare: func(*fixture) {},
		spec:    DialSpec{Color: "blue", Unit: "cm"},
		after: func(t *testing.T, _ map[string]string, spec map[string]any) {
			t.Helper()
			require.Equal(t, "cm", spec["unit"])
		},
	},
}

// TestPatchesBeforeTheApply: a write of ours before the apply loses no entry. This holds where
// every apply fails, and where only other writes lose entries: an object stored in the old version
// gets the default only when it is written.
func TestPatchesBeforeTheApply(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*fixture){"a default not stored yet": func(f *fixture) { f.addDefault() }}
	maps.Copy(ways, brokenConversions)
	for name, s := range steps {
		for way, breakIt := range ways {
			if s.spec.Unit != "" && way == "a version is gone" {
				continue // there is no such field
			}
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, len(name+way)%2 == 0)
				f.mustEnsure(f.operator("v1"), "v1", red)
				f.othersWrite()
				s.prepare(f)
				breakIt(f)
				want := f.owners()
				f.mustEnsure(f.operator("v2"), "v2", s.spec, s.opts...)
				s.after(t, want, f.live().Object["spec"].(map[string]any))
				require.Empty(t, cmp.Diff(want, f.owners()))
			})
		}
	}
}

// TestVersionsThatConvert: entries of other versions stay as they are where the server can
// convert to these, which one dry run shows before a patch.
func TestVersionsThatConvert(t *testing.T) {
	t.Parallel()
	f := newFixture(t, false)
	f.mustEnsure(f.operator("v1"), "v1", red)
	f.othersWrite()
	f.addVersion()
	mark := shared.Mark()
	f.mustEnsure(f.operator("v2"), "v2", blue, ensure.Release("spec.size"))
	require.Equal(t, map[string]int{"get dials": 1, "patch dials (dry run)": 1, "patch dials": 2}, f.requests(mark))
	versions := map[string]string{}
	for _, entry := range f.live().GetManagedFields() {
		versions[entry.Manager] = entry.APIVersion
	}
	old, current := f.group+"/v1", f.group+"/v2"
	require.Equal(t, map[string]string{fieldOwner: current, fieldOwner + "-released": old, "dial-controller": old, "gitops": old, "kubectl-edit": old}, versions)
}

// TestConversionOutOfReach: entries are not rewritten while the webhook that converts cannot be
// asked, as the fields of another version may have other names.
func TestConversionOutOfReach(t *testing.T) {
	t.Parallel()
	f := newFixture(t, false)
	f.mustEnsure(f.operator("v1"), "v1", red)
	f.othersWrite()
	f.addVersion()
	f.mustEnsure(f.operator("v2"), "v2", DialSpec{Color: "green", Size: 1}) // it is stored in v2
	f.breakConversion()
	for _, opts := range [][]ensure.Option{nil, {ensure.Release("spec.size")}} {
		before := f.live().GetManagedFields()
		_, err := ensure.Object(t.Context(), f.operator("v2"), f.desired("v2", blue), opts...)
		require.ErrorIs(t, err, ensure.ErrAPI)
		require.Empty(t, cmp.Diff(before, f.live().GetManagedFields()))
	}
}

// TestLiveOfAnotherType: an object that does not fit the new schema is named, and left alone.
func TestLiveOfAnotherType(t *testing.T) {
	t.Parallel()
	f := newFixture(t, false)
	f.mustEnsure(f.operator("v1"), "v1", red)
	f.othersWrite()
	f.changeType()
	for _, opts := range [][]ensure.Option{nil, {ensure.Release("spec.size")}, {ensure.DryRun()}} {
		before := f.live().GetManagedFields()
		_, err := ensure.Object(t.Context(), f.operator("v2"), f.desired("v2", blue), opts...)
		require.ErrorIs(t, err, ensure.ErrInvalid)
		require.ErrorContains(t, err, "the live object does not fit the schema of "+f.group+"/v2")
		require.Empty(t, cmp.Diff(before, f.live().GetManagedFields()))
	}
}

// breakConversion has a webhook convert that nobody answers for.
func (f *fixture) breakConversion() {
	f.t.Helper()
	definition := f.definition(version("v1", false), version("v2", false))
	require.NoError(f.t, f.installer.Get(f.t.Context(), client.ObjectKeyFromObject(definition), definition))
	url := "https://127.0.0.1:1/convert"
	definition.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: shared.Config().CAData},
		},
	}
	require.NoError(f.t, f.installer.Update(f.t.Context(), definition))
	require.NoError(f.t, shared.Await(f.t.Context(), limit, "", func(ctx context.Context) error {
		err := f.client("kubectl-edit", "").Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "dial"}, f.dial("v1", "", ""))
		if err == nil {
			return errStillConverts
		}
		return nil
	}))
}

// TestCaches: a cache may strip managed fields, or show an older version of the object.
func TestCaches(t *testing.T) {
	t.Parallel()
	for name, show := range map[string]func(live, old client.Object) client.Object{
		"stripped": func(live, _ client.Object) client.Object {
			live.SetManagedFields(nil)
			return live
		},
		"lagging": func(_, old client.Object) client.Object { return old },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachBrokenConversion(t, func(t *testing.T, f *fixture, breakIt func(*fixture)) {
				t.Helper()
				f.mustEnsure(f.operator("v1"), "v1", red)
				f.othersWrite()
				f.addVersion()
				before := f.live()
				breakIt(f)
				owners := f.owners()
				f.wrap = func(c client.Client) client.Client {
					return &cachedClient{Client: c, show: func(live client.Object) client.Object { return show(live, before) }}
				}
				f.mustEnsure(f.operator("v2"), "v2", blue)
				require.Empty(t, cmp.Diff(owners, f.owners()))
				require.NotContains(t, f.live().Object["spec"], "size")
			})
		})
	}
}
