package controller

import (
	"cmp"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/templates"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/hash"
)

// These are written to children, whatever the templates specify.
const (
	// managedByLabel selects the objects in the cache of the manager.
	managedByLabel = "app.kubernetes.io/managed-by"
	// digestLabel holds the digest of each child's desired state.
	digestLabel = "utilities.operators.sample.ibm.com/hash"
)

// children are the children of an Application. They have the fields that the templates specify and
// no others: the API server sets defaults, which ensure leaves alone.
type children struct {
	secret     *corev1.Secret
	deployment *appsv1.Deployment
	service    *corev1.Service
}

// inOrder returns each child before the children that use it.
func (c *children) inOrder() []client.Object {
	return []client.Object{c.secret, c.deployment, c.service}
}

// checkNames refuses an Application whose name is too long for the names of the children.
func (c *children) checkNames(application string) error {
	return operator.CheckNames(application, c.secret.Name, c.deployment.Name, c.service.Name)
}

// childrenFor makes children from manifests. An error is about a template, or about the result for
// app.
func childrenFor(app *v1alpha1.Application, renderer *manifest.Renderer) (*children, error) {
	data := templates.Data{
		Name:       app.Name,
		Namespace:  app.Namespace,
		Labels:     app.Labels,
		Version:    app.Spec.Version,
		AmountPods: ptr.Deref(app.Spec.AmountPods, v1alpha1.DefaultAmountPods),
		Image:      app.Spec.Image,
		Title:      cmp.Or(app.Spec.Title, v1alpha1.DefaultTitle),
	}
	secret, err := manifest.Object[*corev1.Secret](renderer, "secret.yaml", app.Namespace, data)
	if err != nil {
		return nil, err
	}
	digest, err := hash.Of(contentOf(secret))
	if err != nil {
		return nil, err
	}
	data.Secret = &templates.Secret{Name: secret.Name, Digest: digest}
	deployment, err := manifest.Object[*appsv1.Deployment](renderer, "deployment.yaml", app.Namespace, data)
	if err != nil {
		return nil, err
	}
	service, err := manifest.Object[*corev1.Service](renderer, "service.yaml", app.Namespace, data)
	if err != nil {
		return nil, err
	}
	return &children{secret, deployment, service}, nil
}

// contentOf returns the content that pods read, whether the template has it as text or encoded. A
// greeting is no secret to people who can read Deployments. For a real secret, use an HMAC with a
// key of the operator instead of a plain digest.
func contentOf(secret *corev1.Secret) map[string][]byte {
	content := maps.Clone(secret.Data)
	if content == nil {
		content = make(map[string][]byte, len(secret.StringData))
	}
	for key, text := range secret.StringData { // which wins on the server, too
		content[key] = []byte(text)
	}
	return content
}
