package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// Managed fields tell what no Go type does.
func TestOwnedFields(t *testing.T) {
	t.Parallel()
	const users = `{"f:spec":{"f:users":{
		"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:roles":{"v:\"reader\"":{}}},
		"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}}`
	const ports = `{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`
	for name, c := range map[string]struct {
		owned, before, after string
		changes, unsatisfied []string
	}{
		"a renamed item": {
			users,
			`{"spec":{"users":[{"name":"a","size":1},{"name":"b","size":2},{"name":"c","size":3}]}}`,
			`{"spec":{"users":[{"name":"b","size":2},{"name":"c","size":3},{"name":"d","size":1}]}}`,
			[]string{"spec.users[name=d]", "spec.users[name=a]"},
			[]string{"spec.users[name=d]"},
		},
		"another's item": {
			users,
			`{"spec":{"users":[{"name":"x"},{"name":"a"},{"name":"b"}]}}`, `{"spec":{"users":[{"name":"a"},{"name":"b"}]}}`,
			[]string{"spec.users[name=x]"},
			nil,
		},
		"another order": {
			users,
			`{"spec":{"users":[{"name":"b"},{"name":"a"}]}}`, `{"spec":{"users":[{"name":"a"},{"name":"b"}]}}`,
			[]string{"spec.users"},
			[]string{"spec.users"},
		},
		"in an item": {
			users,
			`{"spec":{"users":[{"name":"x"},{"name":"a","roles":["writer","reader"]}]}}`, `{"spec":{"users":[{"name":"a","roles":["reader","admin"]}]}}`,
			[]string{"spec.users[name=a].roles[admin]", "spec.users[name=a].roles[writer]", "spec.users[name=x]"},
			[]string{"spec.users[name=a].roles[admin]"},
		},
		"an item without a key": {
			ports,
			`{"spec":{"ports":[{"port":80,"protocol":"TCP"},{"port":81,"protocol":"TCP"}]}}`, `{"spec":{"ports":[{"port":81},{"port":82}]}}`,
			[]string{"spec.ports[0].port", "spec.ports[0].protocol", "spec.ports[1].port", "spec.ports[1].protocol"},
			[]string{"spec.ports[0].port", "spec.ports[1].port"},
		},
		"two keys": {
			ports,
			`{"spec":{"ports":[{"port":80,"protocol":"TCP"}]}}`, `{"spec":{"ports":[{"port":80,"protocol":"UDP"},{"port":80,"protocol":"TCP","x":1}]}}`,
			[]string{"spec.ports[port=80,protocol=UDP]", "spec.ports[port=80,protocol=TCP].x"},
			[]string{"spec.ports[port=80,protocol=UDP]", "spec.ports[port=80,protocol=TCP].x"},
		},
		"a key that is no name": {
			users,
			`{"spec":{"users":[{"name":"a"},{"name":"b]"}]}}`, `{"spec":{"users":[{"name":"b]"},{"name":"a"}]}}`,
			[]string{"spec.users[0].name", "spec.users[1].name"},
			[]string{"spec.users[0].name", "spec.users[1].name"},
		},
		"a key that is an object": {
			users,
			`{"spec":{"users":[{"name":{}}]}}`, `{"spec":{"users":[{"name":true}]}}`,
			[]string{"spec.users[0].name"},
			[]string{"spec.users[0].name"},
		},
		"a list as a whole": {
			`{"f:spec":{"f:users":{}}}`,
			`{"spec":{"users":[{"name":"a"}]}}`, `{"spec":{"users":[{"name":"b"}]}}`,
			[]string{"spec.users[0].name"},
			[]string{"spec.users[0].name"},
		},
		"a dropped map": {
			`{"f:spec":{"f:nodeSelector":{}}}`,
			`{"spec":{"x":1}}`, `{"spec":{"nodeSelector":{},"x":1}}`,
			[]string{"spec.nodeSelector"},
			nil,
		},
		"in an atomic part": {
			`{"f:spec":{"f:podSelector":{}}}`,
			`{"spec":{"podSelector":{}}}`, `{"spec":{"podSelector":{"matchLabels":{}}}}`,
			[]string{"spec.podSelector.matchLabels"},
			nil,
		},
		"a removed map": {
			`{"f:spec":{"f:x":{}}}`,
			`{"spec":{"x":1}}`, `{"spec":{"emptyDir":{},"x":1}}`,
			[]string{"spec.emptyDir"},
			[]string{"spec.emptyDir"},
		},
		"a map that is not empty": {
			`{"f:spec":{"f:nodeSelector":{}}}`,
			`{"spec":{"x":1}}`, `{"spec":{"nodeSelector":{"a":"b"},"x":1}}`,
			[]string{"spec.nodeSelector"},
			[]string{"spec.nodeSelector"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owned := managedfields.OwnedBy(&metav1.ManagedFieldsEntry{FieldsV1: managedfields.NewFields(c.owned)})
			before, after := unstructuredOf(t, c.before), unstructuredOf(t, c.after)
			require.Equal(t, c.changes, pathsOf(delta.Diff(before, after, owned)))
			require.Equal(t, c.unsatisfied, pathsOf(delta.Unsatisfied(before, after, owned)))
			require.Equal(t, len(c.unsatisfied) == 0, delta.Satisfies(before, after, owned))
		})
	}
}
