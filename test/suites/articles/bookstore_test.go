package articles_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/storage"
)

func bookStore() articleTest {
	var claim, pod types.UID
	return articleTest{
		name:    "bookstore",
		options: []cluster.Option{cluster.WithStorage()},
		happens: map[string]event{
			"the disks are such that cannot grow while a pod has them": func(t *testing.T, r *reader) {
				t.Helper()
				require.NoError(t, storage.Settings{Nodes: storage.Offline}.Write(r.cluster.Dir()))
			},
			"somebody notes which claim and which pod it is": func(t *testing.T, r *reader) {
				t.Helper()
				claim, pod = r.databaseOf(t, "example-bookstore")
			},
			"the pod is another, and the claim the same": func(t *testing.T, r *reader) {
				t.Helper()
				sameClaim, otherPod := r.databaseOf(t, "example-bookstore")
				require.Equal(t, claim, sameClaim)
				require.NotEqual(t, pod, otherPod)
				pod = otherPod
			},
		},
	}
}

// databaseOf returns the UIDs of a book store's mounted claim and of its database's pod.
func (r *reader) databaseOf(t *testing.T, store string) (claim, pod types.UID) {
	t.Helper()
	core := r.clients.CoreV1()
	mongod, err := core.Pods("default").Get(t.Context(), store+"-mongodb-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, mongod.Spec.Volumes[0].PersistentVolumeClaim, "%+v", mongod.Spec.Volumes)
	name := mongod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName
	require.Equal(t, "mongodb-pvc-"+mongod.Name, name)
	mounted, err := core.PersistentVolumeClaims("default").Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return mounted.UID, mongod.UID
}
