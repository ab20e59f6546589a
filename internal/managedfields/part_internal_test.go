package managedfields

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/paths"
)

func TestMayBePart(t *testing.T) {
	fields := Fields(&metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(`{
		"f:data": {"f:password": {}},
		"f:spec": {
			"f:selector": {},
			"f:users": {},
			"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:nodePort": {}}},
			"f:bare": {"k:{\"a\":1,\"b\":2}": {}}
		}
	}`)})
	for path, want := range map[string]bool{
		"data[password]":                 false,
		"data":                           false,
		"spec.selector":                  false,
		"spec.selector[app]":             true,
		"spec.users[name=root].password": true,
		"spec.users":                     false,
		"spec.ports[port=80,protocol=TCP].nodePort": false,
		"spec.ports[port=80].nodePort":              true,
		"spec.ports[port=81].nodePort":              false,
		"spec.bare[a=1]":                            true,
		"spec.other.x":                              false,
		"":                                          false,
	} {
		require.Equal(t, want, MayBePart(fields, paths.Steps(path)), path)
	}
}
