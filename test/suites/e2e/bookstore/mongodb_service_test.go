package bookstore_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/operator"
)

const mongoDBService = "mongodb-service"

// waitForService waits until the Service mongodb-service leads to the first database of the BookStore.
func (f fixture) waitForService(t *testing.T) *corev1.Service {
	t.Helper()
	eventually(t, func(context.Context) error { return isTrue(f.store(t), v1alpha1.MongoDBServiceReadyCondition) })
	service := f.service(t, mongoDBService)
	require.True(t, metav1.IsControlledBy(service, f.store(t)))
	return service
}

// testMongoDBService has the Service with the name of the article, which only one BookStore of a namespace can have.
func testMongoDBService(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	service := f.waitForService(t)
	require.Equal(t, corev1.ClusterIPNone, service.Spec.ClusterIP)
	require.Equal(t, int32(27017), service.Spec.Ports[0].Port)
	eventually(t, func(context.Context) error {
		pods := tests.Endpoints(t, f.namespace, mongoDBService)
		return expect(slices.Equal(pods, []string{"shop-mongodb-0"}), "the databases have separate data; it leads to %q", pods)
	})
	f.change(t, `{"bookDB":{"port":27018}}`)
	f.settle(t)
	require.Equal(t, int32(27018), f.service(t, mongoDBService).Spec.Ports[0].Port)

	other := f
	other.name = "other"
	other.create(t)
	other.settle(t)
	is := other.waitForReason(t, v1alpha1.MongoDBServiceReadyCondition, "Foreign")
	require.Contains(t, is.Message, `BookStore "shop"`)
	mark := shared.Mark()
	other.reconcile(t)
	require.Empty(t, f.allRequests(t, mark), "nothing is tried again and again")
	other.patch(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "other-app"}}, `{"spec":{"ports":[{"port":80,"targetPort":1}]}}`)
	other.settle(t)

	f.change(t, `{"bookDB":{"mongodbService":false}}`)
	f.waitForReason(t, v1alpha1.MongoDBServiceReadyCondition, v1alpha1.ReasonTurnedOff)
	f.settle(t)
	uid := other.waitForService(t).UID
	f.change(t, `{"bookDB":{"mongodbService":true}}`)
	f.waitForReason(t, v1alpha1.MongoDBServiceReadyCondition, "Foreign")
	other.delete(t)
	require.NotEqual(t, uid, f.waitForService(t).UID)
	f.settle(t)
}

// testForeignMongoDBService leaves the Service of somebody else alone, and takes the name once it is free.
func testForeignMongoDBService(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	theirs := f.createForeign(t, mongoDBService)
	f.create(t)
	f.waitForReason(t, v1alpha1.MongoDBServiceReadyCondition, "Foreign")
	f.settle(t)
	f.change(t, `{"bookDB":{"mongodbService":false}}`)
	f.waitForReason(t, v1alpha1.MongoDBServiceReadyCondition, v1alpha1.ReasonTurnedOff)
	require.Equal(t, theirs.ResourceVersion, f.service(t, mongoDBService).ResourceVersion, "it is left alone")
	f.change(t, `{"bookDB":{"mongodbService":true}}`)
	f.waitForReason(t, v1alpha1.MongoDBServiceReadyCondition, "Foreign")
	require.NoError(t, admin(t).Delete(t.Context(), theirs))
	f.waitForService(t)
	f.settle(t)
}

// testDatabaseAccess applies the NetworkPolicy beside the sample, as the README says. No network enforces the policy here.
func testDatabaseAccess(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "example-bookstore"}
	config := t.TempDir()
	require.NoError(t, os.CopyFS(config, os.DirFS(filepath.Join(installed(t).Dir, "config"))))
	path := filepath.Join(config, "samples", "kustomization.yaml")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	uncommented := strings.NewReplacer("#components", "components", "#- ", "- ").Replace(string(text))
	require.NoError(t, os.WriteFile(path, []byte(uncommented), 0o600))
	kubectl(t, "apply", "-n", f.namespace, "-k", filepath.Dir(path))
	f.settle(t)

	policy := get(t, f, "bookstore-database-access", &networkingv1.NetworkPolicy{})
	for pods, selector := range map[string]*metav1.LabelSelector{
		"database": &policy.Spec.PodSelector, "app": policy.Spec.Ingress[0].From[0].PodSelector,
	} {
		var selected corev1.PodList
		require.NoError(t, admin(t).List(t.Context(), &selected, client.InNamespace(f.namespace), client.MatchingLabels(selector.MatchLabels)))
		require.Len(t, selected.Items, 1, pods)
		require.Contains(t, selected.Items[0].Labels["app.kubernetes.io/component"], pods)
	}
}
