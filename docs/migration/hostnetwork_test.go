package migration_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trueup-go/trueup/ensure"
)

// ensureWithoutHostNetwork reverts also hostNetwork: true, which a typed object cannot specify to be false.
func ensureWithoutHostNetwork(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Result[*unstructured.Unstructured], error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deploymentFor(shop))
	if err != nil {
		return ensure.Result[*unstructured.Unstructured]{}, err
	}
	delete(content, "status")
	desired := &unstructured.Unstructured{Object: content}
	desired.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if err := unstructured.SetNestedField(content, false, "spec", "template", "spec", "hostNetwork"); err != nil {
		return ensure.Result[*unstructured.Unstructured]{}, err
	}
	return ensure.Object(ctx, e, desired, ensure.ControlledBy(shop))
}
