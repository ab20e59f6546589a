package cookbook_test

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/trueup-go/trueup/ensure"
)

// ownLabels are on every child, and on nothing else.
var ownLabels = map[string]string{"app.kubernetes.io/managed-by": "shop-operator"}

// managerOptions limits the cache: only children, and no managed fields.
func managerOptions() ctrl.Options {
	children := cache.ByObject{Label: labels.SelectorFromSet(ownLabels)}
	return ctrl.Options{
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Secret{}:     children,
				&appsv1.Deployment{}: children,
			},
		},
		Client: client.Options{Cache: &client.CacheOptions{
			EnableReadYourWritesConsistency: new(true),
			Unstructured:                    true, // otherwise, each read of an unstructured child is a request
		}},
		// The operator's own reads could wait without an end for what it wrote.
		Controller: config.Controller{ReconciliationTimeout: time.Minute},
	}
}

func newEnsurer(c client.Client, server client.Reader) *ensure.Ensurer {
	return ensure.New(c, server, "shop-operator", ensure.WithLabels(ownLabels))
}
