package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/reversewordsapp/templates"
)

// children are the desired children of a ReverseWordsApp. They have only the fields of the templates. The
// API server sets defaults for other fields, which ensure leaves alone.
type children struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
}

// childrenFor renders the children of app. An invalid template, or an invalid result for app, is an error.
// Whatever the template says, the pods have the label by which the cache of the operator selects them.
func childrenFor(app *v1alpha1.ReverseWordsApp, renderer *manifest.Renderer) (*children, error) {
	data := templates.Data{
		Name:        app.Name,
		Namespace:   app.Namespace,
		Labels:      app.Labels,
		Replicas:    max(app.Spec.Replicas, 1),
		AppVersion:  app.Spec.AppVersion,
		ServiceType: app.Spec.ServiceType,
	}
	deployment, err := manifest.Object[*appsv1.Deployment](renderer, "deployment.yaml", app.Namespace, data)
	if err != nil {
		return nil, err
	}
	service, err := manifest.Object[*corev1.Service](renderer, "service.yaml", app.Namespace, data)
	if err != nil {
		return nil, err
	}
	metav1.SetMetaDataLabel(&deployment.Spec.Template.ObjectMeta, operator.ManagedByLabel, Name)
	return &children{deployment, service}, nil
}
