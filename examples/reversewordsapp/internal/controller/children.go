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

// managedByLabel selects what the manager's cache holds. It is the operator's own, whatever
// a template says: ensure stamps it on children, and labelPods on pods and their ReplicaSets.
const managedByLabel = "app.kubernetes.io/managed-by"

// children are what is made for a ReverseWordsApp. They hold what the templates specify and
// nothing else: the API server fills in the rest, and ensure leaves it alone.
type children struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
}

// childrenFor makes them from manifests. An error is about a template, or about what it
// makes of app.
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

// inOrder has what is served before what serves it.
func (c *children) inOrder() []client.Object { return []client.Object{c.deployment, c.service} }

// checkNames refuses a ReverseWordsApp whose children could not be named after it.
func (c *children) checkNames(app string) error {
	return operator.CheckNames(app, c.deployment.Name, c.service.Name)
}
