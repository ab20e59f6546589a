package managedfields

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/paths"
)

func TestPartOf(t *testing.T) {
	fields := OwnedBy(&metav1.ManagedFieldsEntry{FieldsV1: NewFields(`{
		"f:data": {"f:password": {}},
		"f:spec": {
			"f:selector": {},
			"f:users": {},
			"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:nodePort": {}}},
			"f:bare": {"k:{\"a\":1,\"b\":2}": {}}
		}
	}`)})
	for path, want := range map[string]int{
		"data[password]":                 0,
		"data":                           0,
		"spec.selector":                  0,
		"spec.selector[app]":             2,
		"spec.users[name=root].password": 2,
		"spec.users":                     0,
		"spec.ports[port=80,protocol=TCP].nodePort": 0,
		"spec.ports[port=80].nodePort":              3,
		"spec.ports[port=80].name":                  0,
		"spec.ports[port=81].nodePort":              0,
		"spec.bare[a=1]":                            3,
		"spec.other.x":                              0,
		"":                                          0,
	} {
		require.Equal(t, want, fields.PartOf(paths.Steps(path)), path)
	}
}
