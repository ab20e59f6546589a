package application_test

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
	t.Run("scaled by hand", func(t *testing.T) {
		t.Parallel()
		testScale(t, process)
	})
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

func testScale(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark, digest := shared.Mark(), f.deployment(t).Labels[digestLabel]
	generation := f.deployment(t).Generation
	kubectl(t, "scale", "deployment", f.deployment(t).Name, "-n", f.namespace, "--replicas=5")
	eventually(t, func(context.Context) error {
		live := f.deployment(t)
		return expect(live.Generation == generation+2 && *live.Spec.Replicas == 2, "%d replicas", *live.Spec.Replicas)
	})
	f.settle(t)
	require.Equal(t, digest, f.deployment(t).Labels[digestLabel], "the digest alone would have told nothing")
	require.Equal(t, map[string]int{"patch deployments": 1}, f.requests(t, mark))
	var written []operator.Entry
	for _, entry := range process.Entries("wrote child") {
		if entry.About("Application", f.namespace, f.name) && entry.Text("cause") == "Drifted" {
			written = append(written, entry)
		}
	}
	require.Len(t, written, 1)
	require.Equal(t, []string{"spec.replicas 5 -> 2"}, written[0].List("changes"))
	require.Equal(t, "Deployment", written[0].Text("kind"))
	require.Equal(t, "Updated", written[0].Text("operation"))
}

func testDeletedChild(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	requests := map[string]string{"Secret": "patch secrets", "Deployment": "patch deployments", "Service": "patch services"}
	for kind, old := range f.children(t) {
		mark := shared.Mark()
		tests.DeleteToReturn(t, old, metav1.DeletePropagationBackground)
		f.settle(t)
		require.Equal(t, map[string]int{"get applications": 1, requests[kind]: 1}, f.requests(t, mark),
			"%s: the owner may be the reason for the deletion", kind)
		for _, child := range f.application(t).Status.Children {
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
	f.patch(t, f.secret(t), `{"data":{"OTHER":"aGVsbG8="}}`)
	eventually(t, func(context.Context) error {
		return expect(f.requests(t, mark)["patch secrets"] == 1, "the server is not asked about the new key: %v", f.requests(t, mark))
	})
	f.settle(t)
	require.Equal(t, map[string]int{"patch secrets": 1}, f.requests(t, mark),
		"it is asked once, and not about labels and annotations")

	f.change(t, `{"title":"Universe","version":"2.0.0"}`)
	f.settle(t)
	for kind, child := range f.children(t) {
		require.Equal(t, "blue", child.GetLabels()["team"], kind)
		require.Equal(t, "mine", child.GetAnnotations()["example.org/note"], kind)
	}
	require.Equal(t, "hello", string(f.secret(t).Data["OTHER"]))
	require.Equal(t, "Universe", string(f.secret(t).Data["GREETING_MESSAGE"]))
}

// testDrift does one thing after another to the children of one Application.
func testDrift(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	var (
		secret     = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-secret-greeting"}}
		deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "shop-deployment-microservice"}}
		service    = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop-service-microservice"}}
	)
	for _, drift := range []struct {
		name  string
		child client.Object
		patch string
	}{
		{"greeting changed", secret, `{"data":{"GREETING_MESSAGE":"c3BvaWxlZA=="}}`},
		{"greeting removed", secret, `{"data":null}`},
		{
			"image, env and probes of the container", deployment,
			`{"spec":{"template":{"spec":{"containers":[{"name":"shop-microservice","image":"example.org/other:1"}]}}}}`,
		},
		{
			"the greeting's digest on the pods", deployment,
			`{"spec":{"template":{"metadata":{"annotations":{"application.sample.ibm.com/greeting-hash":"spoiled"}}}}}`,
		},
		{"version of the pods", deployment, `{"spec":{"template":{"metadata":{"labels":{"app.kubernetes.io/version":null}}}}}`},
		{"type of the Service", service, `{"spec":{"type":"ClusterIP"}}`},
		{"port of the Service", service, `{"spec":{"ports":[{"port":9999,"protocol":"TCP","targetPort":8081}]}}`},
		{"selector changed", service, `{"spec":{"selector":{"app":"other"}}}`},
		{"selector narrowed", service, `{"spec":{"selector":{"other":"yes"}}}`},
		{"digest removed", secret, `{"metadata":{"labels":{"` + digestLabel + `":null}}}`},
		{"digest changed", deployment, `{"metadata":{"labels":{"` + digestLabel + `":"0123456789012345678901234567890123456789"}}}`},
		{"label changed", deployment, `{"metadata":{"labels":{"app":"other"}}}`},
		{"label that the cache selects by", secret, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`},
		{"label that the cache selects by", deployment, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"other"}}}`},
		{"label that the cache selects by", service, `{"metadata":{"labels":null}}`},
		{"owner of the Secret", secret, `{"metadata":{"ownerReferences":null}}`},
		{"owner of the Deployment", deployment, `{"metadata":{"ownerReferences":null}}`},
		{"owner of the Service", service, `{"metadata":{"ownerReferences":null}}`},
	} {
		t.Run(drift.name, func(t *testing.T) {
			before := f.children(t)
			child, _ := drift.child.DeepCopyObject().(client.Object)
			f.patch(t, child, drift.patch)
			eventually(t, func(context.Context) error {
				return expect(cmp.Diff(content(before), content(f.children(t))) == "",
					"still different: %s", cmp.Diff(content(before), content(f.children(t))))
			})
			f.settle(t)
			mark := shared.Mark()
			f.reconcile(t)
			require.Empty(t, f.allRequests(t, mark), "put back once and for all")
		})
	}
	tests.CheckEvents(t, f.operator, f.application(t))
}

// content returns the specified fields and the server's defaults.
func content(children map[string]client.Object) map[string]any {
	out := map[string]any{}
	for kind, child := range children {
		out[kind+" labels"], out[kind+" owners"] = child.GetLabels(), child.GetOwnerReferences()
		switch child := child.(type) {
		case *corev1.Secret:
			out[kind] = child.Data
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
