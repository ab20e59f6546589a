package made_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/made"
)

func TestTable(t *testing.T) {
	of := func(owner types.UID, version string) *layer.Child {
		return &layer.Child{
			Kind:    &kinds.Kind{GVK: schema.GroupVersionKind{Version: version, Kind: "ConfigMap"}},
			Owner:   &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: owner}},
			Desired: &corev1.ConfigMap{},
		}
	}
	live := func(name string, uid types.UID) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid}}
	}
	list := func(items ...*corev1.ConfigMap) *corev1.ConfigMapList {
		list := &corev1.ConfigMapList{}
		for _, item := range items {
			list.Items = append(list.Items, *item)
		}
		return list
	}
	table := made.NewTable(2)
	require.Empty(t, table.Unlisted(of("1", "v1"), list(live("a", "a1"))))
	table.Note(of("1", "v1"), live("a", "a1"))
	table.Note(of("1", "v2"), live("b", "b1"))
	table.Note(of("1", "v1"), live("a", "a2"))
	table.Note(of("2", "v1"), live("c", "c1"))
	require.Equal(t, []client.Object{live("a", "a2"), live("b", "b1")}, table.Unlisted(of("1", "v1"), list(live("a", "a1"))),
		"in any version; a1 was replaced, and c1 is another owner's")
	require.Equal(t, []client.Object{live("a", "a2")}, table.Unlisted(of("1", "v1"), list(live("b", "b1"))))
	table.Forget(of("1", "v1"), "a1")
	require.Len(t, table.Unlisted(of("1", "v1"), list()), 1)
	table.Forget(of("1", "v1"), "a2")
	require.Empty(t, table.Unlisted(of("1", "v1"), list()))
	require.Len(t, table.Unlisted(of("2", "v1"), list()), 1)
}
