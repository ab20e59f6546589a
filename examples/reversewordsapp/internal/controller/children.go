package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/reversewordsapp/templates"
)

// managedByLabel selects the objects that the manager caches. ensure adds the label to children, and
// labelPods adds it to their pods and ReplicaSets.
const managedByLabel = "app.kubernetes.io/managed-by"

// children are the desired children of a ReverseWordsApp. They have only the fields of the templates. The
// API server sets defaults for other fields, which ensure leaves alone.
type children struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
}

// childrenFor renders the children of app. An invalid template, or an invalid result for app, is an error.
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
	labelPods(deployment)
	return &children{deployment, service}, nil
}

// labelPods adds managedByLabel to the pods of the Deployment, so that the manager caches them.
func labelPods(deployment *appsv1.Deployment) {
	pods := &deployment.Spec.Template
	if pods.Labels == nil {
		pods.Labels = map[string]string{}
	}
	pods.Labels[managedByLabel] = Name
}

// inOrder returns the Deployment before the Service that sends traffic to its pods.
func (c *children) inOrder() []client.Object { return []client.Object{c.deployment, c.service} }

// checkNames returns an error if the children cannot be named after the ReverseWordsApp.
func (c *children) checkNames(app string) error {
	return operator.CheckNames(app, c.deployment.Name, c.service.Name)
}
