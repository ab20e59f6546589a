package controller //nolint:testpackage // the keys are the package's own affair

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
		{name: "of a cluster, where keys have none", key: "east/default/alex"},
		{name: "of no cluster, where keys have one", cluster: "east", key: "default/alex"},
		{name: "a namespace called like the cluster", cluster: "east", key: "east/alex"},
		{name: "of another cluster", cluster: "east", key: "west/default/alex"},
		{name: "of a cluster whose name ours begins", cluster: "east", key: "east-2/default/alex"},
		{name: "a number", key: "17"},
		{name: "no object's name", key: "default/Alex Smith"},
		{name: "no namespace", key: "/alex"},
		{name: "nothing", key: ""},
	} {
		_, ours := keys{cluster: test.cluster}.parse(test.key)
		require.False(t, ours, test.name)
	}
}
