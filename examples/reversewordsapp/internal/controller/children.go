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

// managedByLabel selects the objects in the cache of the manager. The operator sets the label, whatever a
// template specifies: ensure adds it to children, and labelPods to pods and their ReplicaSets.
const managedByLabel = "app.kubernetes.io/managed-by"

// children are the children of a ReverseWordsApp. They have the fields that the templates specify
// and no others: the API server sets defaults, which ensure leaves alone.
type children struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
}

// childrenFor makes children from manifests. An error is about a template, or about the result for
// app.
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

// labelPods has the manager's cache hold the Deployment's pods.
func labelPods(deployment *appsv1.Deployment) {
	pods := &deployment.Spec.Template
	if pods.Labels == nil {
		pods.Labels = map[string]string{}
	}
	pods.Labels[managedByLabel] = Name
}

// inOrder returns the Deployment before the Service that sends traffic to its pods.
func (c *children) inOrder() []client.Object { return []client.Object{c.deployment, c.service} }

// checkNames refuses a ReverseWordsApp whose name is too long for the names of the children.
func (c *children) checkNames(app string) error {
	return operator.CheckNames(app, c.deployment.Name, c.service.Name)
}
