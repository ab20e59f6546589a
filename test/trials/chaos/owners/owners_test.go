package owners_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

func TestLacks(t *testing.T) {
	live := parse(t, `{a: {b: 1, c: x}, list: [{name: one, size: 1}, {name: two}], words: [p, q]}`)
	for _, c := range []struct {
		reason, want, says string
	}{
		{"all of it", `{a: {b: 1, c: x}, list: [{name: one, size: 1}, {name: two}], words: [p, q]}`, ""},
		{"others added to maps and lists", `{a: {c: x}, list: [{name: two}], words: [q]}`, ""},
		{"another value", `{a: {b: 2}}`, ".a.b: 1, not 2"},
		{"another type", `{a: {b: "1"}}`, ".a.b: 1, not 1"},
		{"no such key", `{a: {d: 1}}`, ".a.d: <nil>, not 1"},
		{"no such map", `{z: {d: 1}}`, ".z.d: <nil>, not 1"},
		{"no such item", `{list: [{name: three}]}`, ".list[0]: map[name:three] is not among"},
		{"an item that is different", `{list: [{name: one, size: 2}]}`, ".list[0]: map[name:one size:2] is not among"},
		{"no such word", `{words: [p, r]}`, ".words[1]: r is not among"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			missing := owners.Lacks(live, parse(t, c.want), "")
			require.Equal(t, c.says == "", missing == "", missing)
			require.Contains(t, missing, c.says)
		})
	}
}

func parse(t *testing.T, text string) (m owners.Manifest) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal([]byte(text), &m))
	return m
}

// TestChildren checks that the children of all kinds are manifests of known kinds.
func TestChildren(t *testing.T) {
	for _, k := range owners.All() {
		owner := k.New()
		owner.SetNamespace("default")
		owner.SetName("sample")
		require.Contains(t, owners.Kinds, k.Name())
		for _, child := range k.Children(owner) {
			require.NotContains(t, child.Want, "error")
			require.Contains(t, owners.Kinds, child.Kind())
			require.Contains(t, owners.Kinds, child.Controller)
		}
	}
}
