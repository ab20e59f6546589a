package cookbook_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
)

// ensureWithSettings ensures a ConfigMap, and a Deployment that replaces its pods when the ConfigMap changes.
func ensureWithSettings(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Results, error) {
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: shop.Name}, Data: shop.Spec.Settings, BinaryData: shop.Spec.Files,
	}
	digest, err := hash.Of([]any{settings.Data, settings.BinaryData})
	if err != nil {
		return ensure.Results{}, err
	}

	deployment := deploymentFor(shop)
	pods := &deployment.Spec.Template
	pods.Annotations = map[string]string{"shop.example.com/settings": digest}
	pods.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: settings.Name}},
	}}
	return ensure.Set(ctx, e, shop, []client.Object{settings, deployment})
}
