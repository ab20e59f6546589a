package controller

import (
	"cmp"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/templates"
	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/hash"
)

// digestLabel is the label with the digest of each child's desired state.
const digestLabel = "utilities.operators.sample.ibm.com/hash"

// children are the desired children of an Application. They have only the fields of the templates. The
// API server sets defaults for other fields, which ensure leaves alone.
type children struct {
	secret     *corev1.Secret
	deployment *appsv1.Deployment
	service    *corev1.Service
}

// inOrder returns each child before the children that use it.
func (c *children) inOrder() []client.Object {
	return []client.Object{c.secret, c.deployment, c.service}
}

// checkNames returns an error if the children cannot be named after the Application.
func (c *children) checkNames(application string) error {
	return operator.CheckNames(application, c.secret.Name, c.deployment.Name, c.service.Name)
}

// childrenFor renders the children of app. An invalid template, or an invalid result for app, is an error.
// Whatever the template says, the pods have the label by which the cache of the operator selects them.
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
	metav1.SetMetaDataLabel(&deployment.Spec.Template.ObjectMeta, operator.ManagedByLabel, Name)
	return &children{secret, deployment, service}, nil
}

// contentOf returns the content of secret as pods read it. A template may specify data or stringData. The
// digest of the content is visible in the Deployment, which is fine for a greeting. For a real secret,
// use an HMAC with a key of the operator instead.
func contentOf(secret *corev1.Secret) map[string][]byte {
	content := maps.Clone(secret.Data)
	if content == nil {
		content = make(map[string][]byte, len(secret.StringData))
	}
	for key, text := range secret.StringData { // stringData overrides data, as on the API server
		content[key] = []byte(text)
	}
	return content
}
