package bookstore_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/test/harness/storage"
)

// A change is a request of a user, its visible effect, and its cost.
type change struct {
	field, spec string
	see         func(*testing.T, fixture) string
	want        string
	requests    map[string]int
}

// TestEveryField changes one field of the spec after the other. Sizes are for TestGrow.
func TestEveryField(t *testing.T) {
	process := start(t)
	deployment, set, service := map[string]int{"patch deployments": 1}, map[string]int{"patch statefulsets": 1}, map[string]int{"patch services": 1}
	for part, changes := range map[string][]change{
		"app": {
			{"repository", `"example.org/app"`, appImage, "example.org/app:latest", deployment},
			{"tag", `"v2"`, appImage, "example.org/app:v2", deployment},
			{"imagePullPolicy", `"Always"`, func(t *testing.T, f fixture) string { return string(appContainer(t, f).ImagePullPolicy) }, "Always", deployment},
			{"replicas", `3`, func(t *testing.T, f fixture) string { return fmt.Sprint(f.app(t).Status.AvailableReplicas) }, "3", deployment},
			{"port", `8080`, appPorts, "8080 to 3000 to 3000", service},
			{"targetPort", `5000`, appPorts, "8080 to 5000 to 5000", map[string]int{"patch services": 1, "patch deployments": 1}},
			{"serviceType", `"ClusterIP"`, serviceType, "ClusterIP", service},
			{"serviceType", `"NodePort"`, serviceType, "NodePort", service},
			{"serviceType", `"LoadBalancer"`, serviceType, "LoadBalancer", service},
		},
		"database": {
			{"repository", `"example.org/mongo"`, databaseImage, "example.org/mongo:latest", set},
			{"tag", `"8"`, databaseImage, "example.org/mongo:8", set},
			{"imagePullPolicy", `"Never"`, func(t *testing.T, f fixture) string {
				return string(f.pod(t, 0).Spec.Containers[0].ImagePullPolicy)
			}, "Never", set},
			{"replicas", `3`, func(t *testing.T, f fixture) string { return fmt.Sprint(f.set(t).Status.ReadyReplicas) }, "3", set},
			{"port", `27018`, databasePorts, "27018, 27018, --port=27018, 27018", map[string]int{
				"patch services": 2, "patch statefulsets": 1, "patch deployments": 1,
			}},
			{"retain", `false`, whenDeleted, "Delete", set},
			{"retain", `null`, whenDeleted, "Retain", set},
		},
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, process)
			for _, change := range changes {
				mark := shared.Mark()
				f.change(t, fmt.Sprintf(`{%q:{%q:%s}}`, map[string]string{"app": "bookApp", "database": "bookDB"}[part], change.field, change.spec))
				f.settle(t)
				require.Equal(t, change.want, change.see(t, f), change.field)
				requests := f.requests(t, mark)
				if change.want == "Retain" {
					// The set's controller and the operator both remove the set as owner of the
					// claims.
					require.LessOrEqual(t, requests["patch persistentvolumeclaims"], 3, "once for each")
					delete(requests, "patch persistentvolumeclaims")
					f.eventuallyOwned(t, f.set(t), true)
				}
				require.Empty(t, cmp.Diff(change.requests, requests), change.field)
				mark = shared.Mark()
				f.reconcile(t)
				require.Empty(t, f.allRequests(t, mark), "%s: once and for all", change.field)
			}
		})
	}
	t.Run("storage class", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, process)
		uids, set := f.uids(t), f.set(t).UID
		f.change(t, `{"bookDB":{"replicas":3,"storageClassName":"`+storage.FixedClass+`"}}`)
		f.settle(t)
		require.NotEqual(t, set, f.set(t).UID, "no claim template can be changed")
		require.Equal(t, uids, f.uids(t), "what there is stays, pods included")
		require.Equal(t, storage.ExpandableClass, ptr.Deref(f.claim(t, 1).Spec.StorageClassName, ""))
		require.Equal(t, storage.FixedClass, ptr.Deref(f.claim(t, 2).Spec.StorageClassName, ""))
	})
}

func appContainer(t *testing.T, f fixture) corev1.Container {
	t.Helper()
	return f.app(t).Spec.Template.Spec.Containers[0]
}

func appImage(t *testing.T, f fixture) string {
	t.Helper()
	return appContainer(t, f).Image
}

func appPorts(t *testing.T, f fixture) string {
	t.Helper()
	port := f.service(t, "shop-app").Spec.Ports[0]
	return fmt.Sprintf("%d to %s to %d", port.Port, port.TargetPort.String(), appContainer(t, f).Ports[0].ContainerPort)
}

func serviceType(t *testing.T, f fixture) string {
	t.Helper()
	return string(f.service(t, "shop-app").Spec.Type)
}

func databaseImage(t *testing.T, f fixture) string {
	t.Helper()
	image := f.pod(t, 0).Spec.Containers[0].Image
	require.Equal(t, image, f.pod(t, 1).Spec.Containers[0].Image)
	return image
}

// databasePorts returns the ports of the Service, of the container, of mongod, and in the app's
// configuration.
func databasePorts(t *testing.T, f fixture) string {
	t.Helper()
	mongod := f.pod(t, 0).Spec.Containers[0]
	return fmt.Sprintf("%d, %d, %s, %s", f.service(t, "shop-mongodb").Spec.Ports[0].Port,
		mongod.Ports[0].ContainerPort, mongod.Args[1], appContainer(t, f).Env[1].Value)
}

func whenDeleted(t *testing.T, f fixture) string {
	t.Helper()
	return string(f.set(t).Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted)
}
