package obstacle_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

// TestProtected: a protected field is no obstacle, nor is a value around the field. A field beside it may be.
func TestProtected(t *testing.T) {
	found := scene{
		live: `
spec:
  auth: {password: x, realm: y}
  mode: old
  users: [{name: root, password: x}, {name: guest}]
  plain: [{name: a}]`,
		desired: `
spec: {size: 1}`,
		entries: []metav1.ManagedFieldsEntry{updated("kubectl-edit", `{"f:spec":{
			"f:auth":{"f:password":{},"f:realm":{}},"f:mode":{},"f:plain":{},
			"f:users":{"k:{\"name\":\"guest\"}":{".":{},"f:name":{}},"k:{\"name\":\"root\"}":{".":{},"f:name":{},"f:password":{}}}}}`)},
	}
	all := []string{"spec.auth", "spec.mode", "spec.plain", "spec.users"}
	for path, want := range map[string]struct{ obstacles, fixed []string }{
		"spec.absent":                    {all, nil},
		"spec.users[name=other].x":       {all, nil},
		"spec.users[name=root].token":    {all, nil},
		"spec.mode.x":                    {all, nil},
		"spec.mode":                      {[]string{"spec.auth", "spec.plain", "spec.users"}, []string{"spec.mode"}},
		"spec.auth":                      {[]string{"spec.mode", "spec.plain", "spec.users"}, []string{"spec.auth"}},
		"spec.auth.password":             {[]string{"spec.auth.realm", "spec.mode", "spec.plain", "spec.users"}, []string{"spec.auth.password"}},
		"spec.plain[name=a]":             {[]string{"spec.auth", "spec.mode", "spec.users"}, []string{"spec.plain"}},
		"spec.users[name=root].password": {[]string{"spec.auth", "spec.mode", "spec.plain", "spec.users[name=guest]"}, nil},
	} {
		m := found.merge(t)
		m.Protect(paths.Steps(path))
		require.ElementsMatch(t, want.obstacles, textsOf(m.Obstacles(nil)), path)
		require.ElementsMatch(t, want.fixed, textsOf(m.Fixed()), path)
	}
}

// TestFieldsInsideItems: somebody owns fields inside several items, and nobody owns the items.
func TestFieldsInsideItems(t *testing.T) {
	t.Parallel()
	inside := `{"f:spec":{"f:ports":{"k:{\"port\":1}":{"f:name":{}},"k:{\"port\":2}":{"f:name":{}}}}}`
	s := scene{
		live:    "spec: {ports: [{port: 1, name: a}, {port: 2, name: b}]}",
		desired: "spec: {ports: [{port: 1, name: c}]}",
		entries: []metav1.ManagedFieldsEntry{updated("kubectl-edit", inside)},
	}
	found := s.merge(t).Obstacles([]string{"spec.ports"})
	require.Len(t, found, 1)
	require.Equal(t, "spec.ports[port=2]", managedfields.Text(found[0].Path))
}
