package reversewordsapp_test

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
	t.Run("a deleted child returns", func(t *testing.T) {
		t.Parallel()
		testDeletedChild(t, process)
	})
	t.Run("what others add stays", func(t *testing.T) {
		t.Parallel()
		testForeignMetadata(t, process)
	})
	t.Run("what we specify is put back", func(t *testing.T) {
		t.Parallel()
		testDrift(t, process)
	})
}

func testDeletedChild(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	for _, old := range f.children(t) {
		tests.DeleteToReturn(t, old, metav1.DeletePropagationBackground)
		f.settle(t)
		f.waitForPods(t, func() []string { return f.podNames(t) })
		for _, child := range f.app(t).Status.Children {
			require.Equal(t, f.children(t)[child.Kind].GetUID(), child.UID, "the status names the new one")
		}
	}
}

func testForeignMetadata(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark := shared.Mark()
	for _, child := range f.children(t) {
		f.patch(t, child, `{"metadata":{"labels":{"team":"blue"},"annotations":{"example.org/note":"mine"}}}`)
	}
	f.settle(t)
	require.Empty(t, f.requests(t, mark), "the server is not even asked")
	f.change(t, `{"replicas":3,"serviceType":"NodePort"}`)
	f.settle(t)
	for kind, child := range f.children(t) {
		require.Equal(t, "blue", child.GetLabels()["team"], kind)
		require.Equal(t, "mine", child.GetAnnotations()["example.org/note"], kind)
	}
}

// testDrift does one thing after another to the children of one ReverseWordsApp.
func testDrift(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "dp-shop"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "service-shop"}}
	for _, drift := range []struct {
		name  string
		child client.Object
		patch string
	}{
		{"replicas", deployment, `{"spec":{"replicas":5}}`},
		{
			"image, port and probes of the container", deployment,
			`{"spec":{"template":{"spec":{"containers":[{"name":"reversewords","image":"example.org/other"}]}}}}`,
		},
		{
			"label of the pods that the cache selects by", deployment,
			`{"spec":{"template":{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}}}`,
		},
		{"label changed", deployment, `{"metadata":{"labels":{"app":"other"}}}`},
		{"label that the cache selects by", deployment, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"other"}}}`},
		{"all labels of the Service", service, `{"metadata":{"labels":null}}`},
		{"type of the Service", service, `{"spec":{"type":"NodePort"}}`},
		{"port of the Service", service, `{"spec":{"ports":[{"name":"http","port":9999,"protocol":"TCP","targetPort":8080}]}}`},
		{"selector of the Service", service, `{"spec":{"selector":{"app.kubernetes.io/instance":"other"}}}`},
		{"owner of the Deployment", deployment, `{"metadata":{"ownerReferences":null}}`},
		{"owner of the Service", service, `{"metadata":{"ownerReferences":null}}`},
	} {
		t.Run(drift.name, func(t *testing.T) {
			before := f.children(t)
			child, _ := drift.child.DeepCopyObject().(client.Object)
			f.patch(t, child, drift.patch)
			eventually(t, func(context.Context) error {
				diff := cmp.Diff(content(before), content(f.children(t)))
				return expect(diff == "", "still different: %s", diff)
			})
			f.settle(t)
			f.waitForPods(t, func() []string { return f.podNames(t) })
		})
	}
}

// content returns the specified fields and the server's defaults.
func content(children map[string]client.Object) map[string]any {
	out := map[string]any{}
	for kind, child := range children {
		out[kind+" labels"], out[kind+" owners"] = child.GetLabels(), child.GetOwnerReferences()
		switch child := child.(type) {
		case *appsv1.Deployment:
			out[kind] = child.Spec
		case *corev1.Service:
			spec := child.Spec.DeepCopy()
			for i := range spec.Ports {
				spec.Ports[i].NodePort = 0 // the server may allocate another
			}
			out[kind] = *spec
		}
	}
	return out
}
