package owners

import (
	"fmt"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wordsv1alpha1 "github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/site/api/v1"
)

func site() *Kind {
	return &Kind{
		Operator:    "site",
		Prefix:      "page",
		AddToScheme: v1.AddToScheme,
		New:         func() client.Object { return &v1.Site{} },
		Edit:        editSite,
		Children:    childrenOfSite,
		Ready: func(owner client.Object) (metav1.ConditionStatus, string) {
			if owner.(*v1.Site).Spec.Plain {
				return metav1.ConditionTrue, "Plain"
			}
			return metav1.ConditionTrue, "Ready"
		},
	}
}

func editSite(random *rand.Rand, owner client.Object) {
	spec := &owner.(*v1.Site).Spec
	spec.Title = fmt.Sprintf("number %d", random.IntN(1000))
	spec.AppVersion = pick(random, "0.0.1", "0.0.2", "0.0.3")
}

// IsPlain reports whether the owner is a Site that only has a page, and no app that reverses words.
func IsPlain(owner client.Object) bool {
	site, ok := owner.(*v1.Site)
	return ok && site.Spec.Plain
}

// SetPlain has a Site drop its app and Ingress, or ask for them again.
func SetPlain(owner client.Object, plain bool) { owner.(*v1.Site).Spec.Plain = plain }

// childrenOfSite returns the children of the Site and, as the operator of ReverseWordsApps ensures them for the app,
// those of the app.
func childrenOfSite(owner client.Object) []Child {
	site := owner.(*v1.Site)
	const digest = "spec-hash.trueup-go.github.io/site-operator"
	children := childrenOf("Site", digest, true, parse(`
kind: ConfigMap
metadata:
  name: %[1]s
  labels: {app.kubernetes.io/managed-by: site-operator}
data: {title: %[2]q}
`, site.Name, site.Spec.Title))
	if site.Spec.Plain {
		return children
	}
	children = append(children, childrenOf("Site", digest, true, parse(`
kind: ReverseWordsApp
metadata:
  name: %[1]s
  labels: {app.kubernetes.io/managed-by: site-operator}
spec: {replicas: 2, appVersion: %[2]q}
`, site.Name, site.Spec.AppVersion), parse(`
kind: Ingress
metadata:
  name: %[1]s
  labels: {app.kubernetes.io/managed-by: site-operator}
spec: {defaultBackend: {service: {name: service-%[1]s, port: {name: http}}}}
`, site.Name))...)
	app := &wordsv1alpha1.ReverseWordsApp{Spec: wordsv1alpha1.ReverseWordsAppSpec{
		Replicas: 2, AppVersion: site.Spec.AppVersion, ServiceType: serviceTypes[0],
	}}
	app.Name = site.Name
	return append(children, childrenOfReverseWordsApp(app)...)
}
