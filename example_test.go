package trueup_test

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Website is the custom resource of the reconciler in the README.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WebsiteSpec   `json:"spec,omitempty"`
	Status WebsiteStatus `json:"status,omitempty"`
}

type WebsiteSpec struct {
	Image    string `json:"image"`
	Replicas int32  `json:"replicas"`
}

type WebsiteStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopy is what controller-gen would generate.
func (w *Website) DeepCopy() *Website {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = append([]metav1.Condition(nil), w.Status.Conditions...)
	return &out
}

func (w *Website) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// AddToScheme is what kubebuilder would generate.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schema.GroupVersion{Group: "web.example.com", Version: "v1"}, &Website{})
	return nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	_ = errors.Join(clientgoscheme.AddToScheme(scheme), AddToScheme(scheme))
	return scheme
}

func shop() *Website {
	return &Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"},
		Spec:       WebsiteSpec{Image: "nginx:1.29", Replicas: 2},
	}
}

// The README's reconciler, run by hand on a fake client: it creates the Deployment,
// leaves it alone, and puts back what somebody changed.
func Example() {
	scheme := newScheme()
	ctx := context.Background()
	site := shop()
	deployment := &appsv1.Deployment{ObjectMeta: site.ObjectMeta}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(site).WithStatusSubresource(site).Build()
	r := New(c, c)

	reconcile := func() {
		_ = c.Get(ctx, client.ObjectKeyFromObject(site), site)
		_, err := r.Reconcile(ctx, site)
		_ = c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
		fmt.Println(*deployment.Spec.Replicas, "replicas,", site.Status.Conditions[0].Reason, err)
	}
	reconcile()

	byHand := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`))
	_ = c.Patch(ctx, deployment, byHand)
	fmt.Println(*deployment.Spec.Replicas, "replicas, by hand")
	reconcile()

	// Output:
	// 2 replicas, InProgress <nil>
	// 5 replicas, by hand
	// 2 replicas, InProgress <nil>
}
