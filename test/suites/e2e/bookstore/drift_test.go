package bookstore_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestDrift has people make forbidden and permitted changes to children.
func TestDrift(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"a deleted child returns":       testDeletedChild,
		"what others add stays":         testForeignMetadata,
		"what kubectl sets":             testKubectl,
		"what we specify is put back":   testDrift,
		"the set returns to its claims": testDeletedSet,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

func testDeletedChild(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	for i, old := range f.children(t) {
		tests.DeleteToReturn(t, old, metav1.DeletePropagationBackground)
		f.settle(t)
		require.Equal(t, f.children(t)[i].GetUID(), f.store(t).Status.Children[i].UID, "the status names the new one")
	}
}

// testDeletedSet deletes the set with its pods, then without them.
func testDeletedSet(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	uids := f.uids(t)
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground} {
		old := f.set(t)
		tests.DeleteToReturn(t, old, how)
		f.settle(t)
		require.Equal(t, how == metav1.DeletePropagationOrphan, uids["shop-mongodb-0"] == f.pod(t, 0).UID, how)
		require.Equal(t, uids[f.claimName(0)], f.claim(t, 0).UID, how)
	}
}

// testKubectl has a user restart the app, set its resources and set its image: what the operator leaves open stays.
func testKubectl(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	kubectl(t, "rollout", "restart", "deployment/shop-app", "-n", f.namespace)
	kubectl(t, "set", "resources", "deployment/shop-app", "-n", f.namespace, "--limits=memory=64Mi")
	kubectl(t, "set", "image", "deployment/shop-app", "-n", f.namespace, "bookstore=example.org/other:1")
	eventually(t, func(context.Context) error {
		image := f.app(t).Spec.Template.Spec.Containers[0].Image
		return expect(image == "akash125/pyapp:latest", "the image is %s", image)
	})
	f.settle(t)
	f.change(t, `{"bookApp":{"targetPort":3001}}`)
	f.settle(t)
	pods := f.app(t).Spec.Template
	require.Contains(t, pods.Annotations, "kubectl.kubernetes.io/restartedAt")
	require.Equal(t, "64Mi", pods.Spec.Containers[0].Resources.Limits.Memory().String())
}

func testForeignMetadata(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark := shared.Mark()
	for _, child := range f.children(t) {
		f.patch(t, child, `{"metadata":{"labels":{"team":"blue"},"annotations":{"example.org/note":"mine"}}}`)
	}
	f.settle(t)
	require.Empty(t, f.requests(t, mark), "the server is not even asked")
	f.change(t, `{"bookApp":{"replicas":3,"port":81},"bookDB":{"port":27018}}`)
	f.settle(t)
	for _, child := range f.children(t) {
		require.Equal(t, "blue", child.GetLabels()["team"], "%T", child)
		require.Equal(t, "mine", child.GetAnnotations()["example.org/note"], "%T", child)
	}
}

// testDrift does one thing after another to the children of one BookStore.
func testDrift(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	var (
		set      = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "shop-mongodb"}}
		headless = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop-mongodb"}}
		app      = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "shop-app"}}
		front    = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop-app"}}
	)
	const strip, unlabel = `{"metadata":{"ownerReferences":null}}`, `{"metadata":{"labels":null}}`
	for _, drift := range []struct {
		name  string
		child client.Object
		patch string
	}{
		{"set scaled", set, `{"spec":{"replicas":3}}`},
		{"set scaled down", set, `{"spec":{"replicas":0}}`},
		{"app scaled", app, `{"spec":{"replicas":5}}`},
		{"containers of the set", set, `{"spec":{"template":{"spec":{"containers":[{"name":"mongodb","image":"example.org/other"}]}}}}`},
		{"containers of the app", app, `{"spec":{"template":{"spec":{"containers":[{"name":"bookstore","image":"example.org/other"}]}}}}`},
		{"what becomes of claims", set, `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Delete"}}}`},
		{"port of the database", headless, `{"spec":{"ports":[{"name":"mongodb","port":9999}]}}`},
		{"port of the app", front, `{"spec":{"ports":[{"name":"http","port":9999,"targetPort":3000}]}}`},
		{"type of the Service", front, `{"spec":{"type":"NodePort"}}`},
		{"selector of the database's Service", headless, `{"spec":{"selector":{"app":"other"}}}`},
		{"selector of the app's Service", front, `{"spec":{"selector":{"app":"other"}}}`},
		{"owner of the set", set, strip},
		{"owner of the database's Service", headless, strip},
		{"owner of the app", app, strip},
		{"owner of the app's Service", front, strip},
		{"labels of the set", set, unlabel},
		{"labels of the database's Service", headless, unlabel},
		{"labels of the app", app, unlabel},
		{"labels of the app's Service", front, unlabel},
	} {
		t.Run(drift.name, func(t *testing.T) {
			before, uids := f.children(t), f.uids(t)
			child, _ := drift.child.DeepCopyObject().(client.Object)
			f.patch(t, child, drift.patch)
			eventually(t, func(context.Context) error {
				diff := cmp.Diff(content(before), content(f.children(t)))
				return expect(diff == "", "still different: %s", diff)
			})
			f.settle(t)
			for _, ordinal := range []int{0, 1} {
				require.Equal(t, uids[f.claimName(ordinal)], f.claim(t, ordinal).UID)
			}
		})
	}
}

// content returns the specified fields and the server's defaults.
func content(children []client.Object) []any {
	var out []any
	for _, child := range children {
		out = append(out, child.GetLabels(), child.GetOwnerReferences())
		switch child := child.(type) {
		case *appsv1.StatefulSet:
			out = append(out, child.Spec)
		case *appsv1.Deployment:
			out = append(out, child.Spec)
		case *corev1.Service:
			spec := child.Spec.DeepCopy()
			for i := range spec.Ports {
				spec.Ports[i].NodePort = 0 // the server may allocate another
			}
			out = append(out, *spec)
		}
	}
	return out
}
