package managedfields

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/paths"
)

func TestOwns(t *testing.T) {
	fields := OwnedBy(&metav1.ManagedFieldsEntry{FieldsV1: NewFields(`{
		"f:metadata": {
			"f:annotations": {".": {}, "f:example.org/note": {}},
			"f:finalizers": {"v:\"example.org/hold\"": {}}
		},
		"f:data": {"f:color.json": {}},
		"f:spec": {
			"f:replicas": {},
			"f:selector": {},
			"f:strategy": {"f:type": {}},
			"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
			"f:containers": {
				"k:{\"name\":\"web\"}": {".": {}, "f:image": {}, "f:name": {}}
			},
			"f:args": {"i:1": {}}
		}
	}`)})
	cases := map[string]struct {
		reason string
		want   bool
	}{
		"spec.replicas":                          {"a field", true},
		"spec.paused":                            {"another's", false},
		"spec":                                   {"something in it", true},
		"spec.strategy":                          {"something in it", true},
		"spec.strategy.rollingUpdate":            {"beside what is owned in it", false},
		"spec.selector[app]":                     {"in what is owned whole", true},
		"spec.ports[port=80,protocol=TCP]":       {"an item with two keys", true},
		"spec.ports[port=80,protocol=TCP].port":  {"in an item with two keys", true},
		"spec.ports[port=80,protocol=UDP].port":  {"another item", false},
		"spec.containers[name=web].image":        {"in an item", true},
		"spec.containers[name=web].command":      {"beside what is owned in an item", false},
		"spec.containers[name=sidecar].image":    {"another item", false},
		"spec.containers[0].image":               {"an index where the server knows a key", true},
		"spec.containers[0].command":             {"an index, beside what is owned", false},
		"spec.args[1]":                           {"an index", true},
		"spec.args[0]":                           {"another index", false},
		"data[color.json]":                       {"a key with a dot", true},
		"data[color]":                            {"another key", false},
		"metadata.annotations[example.org/note]": {"a key with a slash", true},
		"metadata.annotations[example.org/nota]": {"another key, in a map that is there", false},
		"metadata.finalizers[example.org/hold]":  {"a member of a set", true},
		"metadata.finalizers[example.org/other]": {"another member", false},
		"":                                       {"the object", true},
	}
	for path, tc := range cases {
		t.Run(path, func(t *testing.T) { require.Equal(t, tc.want, fields.Owns(path), tc.reason) })
	}
}

func TestNothingIsOwnedByNoEntry(t *testing.T) {
	for name, entry := range map[string]*metav1.ManagedFieldsEntry{
		"none":       nil,
		"no fields":  {},
		"unreadable": {FieldsV1: NewFields(`{"f:spec`)},
		"a number":   {FieldsV1: NewFields(`{"f:spec":1}`)},
		"a list":     {FieldsV1: NewFields(`["f:spec"]`)},
		"no end":     {FieldsV1: NewFields(`{"f:spec":{}`)},
		"two ends":   {FieldsV1: NewFields(`{"f:spec":{}}}`)},
		"no comma":   {FieldsV1: NewFields(`{"f:spec":{}"f:data":{}}`)},
		"no name":    {FieldsV1: NewFields(`{"f:spec":{},}`)},
		"no quote":   {FieldsV1: NewFields(`{"f:spec\\`)},
		"an escape":  {FieldsV1: NewFields(`{"f:spec\`)},
		"nothing":    {FieldsV1: NewFields("")},
	} {
		t.Run(name, func(t *testing.T) {
			require.False(t, OwnedBy(entry).Owns("spec"))
			require.False(t, OwnedBy(entry).Owns(""))
		})
	}
}

func TestMergeRule(t *testing.T) {
	fields := OwnedBy(&metav1.ManagedFieldsEntry{FieldsV1: NewFields(`{"f:spec": {
		"f:users": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:roles": {".": {}, "v:\"reader\"": {}}}},
		"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
		"f:args": {},
		"f:limits": {".": {}, "f:cpu": {}}
	}}`)})
	keyed := func(names ...string) *canon.MergeRule {
		rule := &canon.MergeRule{Kind: canon.Keyed}
		for _, name := range names {
			rule.Keys = append(rule.Keys, canon.MergeKey{Name: name})
		}
		return rule
	}
	for path, want := range map[string]*canon.MergeRule{
		"spec.users":               keyed("name"),
		"spec.users[name=a].roles": {Kind: canon.Set},
		"spec.users[name=b].roles": nil,
		"spec.ports":               keyed("port", "protocol"),
		"spec.args":                nil,
		"spec.limits":              nil,
		"spec.other":               nil,
	} {
		require.Equal(t, want, fields.MergeRule(paths.Steps(path)), path)
	}
	require.Nil(t, Owned{}.MergeRule([]string{"spec"}))
}

func TestIsAt(t *testing.T) {
	ports := fieldpath.MakePathOrDie("spec", "ports", value.NewValueInterface(443))
	name := fieldpath.MakePathOrDie("spec", "slots", fieldpath.KeyByFields("name", "a"), "value")
	cases := map[string]struct {
		path fieldpath.Path
		at   bool
	}{
		"spec.ports[443]":          {ports, true},
		"spec.ports[80]":           {ports, false},
		"spec.ports[x]":            {ports, false},
		"spec.slots[name=a]":       {name, true},
		"spec.slots[name=a].value": {name, true},
		"spec.slots[name=b]":       {name, false},
		"spec.slots[0]":            {name, false},
		"spec.slots[0].other":      {name, false},
	}
	for text, tc := range cases {
		require.Equal(t, tc.at, IsAt(tc.path, paths.Steps(text)), text)
	}
}
