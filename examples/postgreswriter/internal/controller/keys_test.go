package controller //nolint:testpackage // tests unexported functions

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

func TestKeys(t *testing.T) {
	writer := types.NamespacedName{Namespace: "default", Name: "sample-student.v2"}
	for cluster, key := range map[string]string{
		"":     "default/sample-student.v2",
		"east": "east/default/sample-student.v2",
	} {
		k := keys{cluster: cluster}
		require.Equal(t, key, k.of(writer))
		got, ours := k.parse(key)
		require.True(t, ours)
		require.Equal(t, writer, got)
	}
}

func TestKeysOfOthers(t *testing.T) {
	for _, test := range []struct{ name, cluster, key string }{
		{name: "with a cluster, and this cluster has no name", key: "east/default/alex"},
		{name: "without a cluster, and this cluster has a name", cluster: "east", key: "default/alex"},
		{name: "a namespace with the name of the cluster", cluster: "east", key: "east/alex"},
		{name: "another cluster", cluster: "east", key: "west/default/alex"},
		{name: "another cluster with the same prefix", cluster: "east", key: "east-2/default/alex"},
		{name: "a number", key: "17"},
		{name: "not the name of an object", key: "default/Alex Smith"},
		{name: "no namespace", key: "/alex"},
		{name: "empty", key: ""},
	} {
		_, ours := keys{cluster: test.cluster}.parse(test.key)
		require.False(t, ours, test.name)
	}
}
