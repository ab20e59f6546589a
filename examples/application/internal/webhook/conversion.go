package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/api/v1beta1"
)

// newConverter returns a converter between the versions. The hub is v1alpha1, the version that the operator uses.
func newConverter(scheme *runtime.Scheme) (conversion.Converter, error) {
	spoke := conversion.NewSpokeConverter(&v1beta1.Application{}, toBeta, toAlpha)
	return conversion.NewHubSpokeConverter(&v1alpha1.Application{}, spoke)(scheme)
}

func toBeta(_ context.Context, alpha *v1alpha1.Application, beta *v1beta1.Application) error {
	beta.ObjectMeta = alpha.ObjectMeta
	beta.Spec = v1beta1.ApplicationSpec{
		Version:  alpha.Spec.Version,
		Replicas: alpha.Spec.AmountPods,
		Image:    alpha.Spec.Image,
		Greeting: v1beta1.Greeting{Title: alpha.Spec.Title},
	}
	beta.Status = v1beta1.ApplicationStatus{
		ObservedGeneration: alpha.Status.ObservedGeneration,
		Conditions:         alpha.Status.Conditions,
		Replicas:           alpha.Status.Replicas,
		Selector:           alpha.Status.Selector,
	}
	for _, child := range alpha.Status.Children {
		beta.Status.Children = append(beta.Status.Children, v1beta1.Child(child))
	}
	return nil
}

func toAlpha(_ context.Context, beta *v1beta1.Application, alpha *v1alpha1.Application) error {
	alpha.ObjectMeta = beta.ObjectMeta
	alpha.Spec = v1alpha1.ApplicationSpec{
		Version:    beta.Spec.Version,
		AmountPods: beta.Spec.Replicas,
		Image:      beta.Spec.Image,
		Title:      beta.Spec.Greeting.Title,
	}
	alpha.Status = v1alpha1.ApplicationStatus{
		ObservedGeneration: beta.Status.ObservedGeneration,
		Conditions:         beta.Status.Conditions,
		Replicas:           beta.Status.Replicas,
		Selector:           beta.Status.Selector,
	}
	for _, child := range beta.Status.Children {
		alpha.Status.Children = append(alpha.Status.Children, v1alpha1.Child(child))
	}
	return nil
}
