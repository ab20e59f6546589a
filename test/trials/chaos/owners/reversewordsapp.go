package owners

import (
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
)

// noSuchVersion is a tag whose image the pods of our clusters cannot get.
const noSuchVersion = "missing"

func reverseWordsApp() *Kind {
	return &Kind{
		Operator:      "reversewordsapp",
		ListsChildren: true,
		Prefix:        "words",
		AddToScheme:   v1alpha1.AddToScheme,
		New:           func() client.Object { return &v1alpha1.ReverseWordsApp{} },
		Edit:          editReverseWordsApp,
		Finalizer:     v1alpha1.Finalizer,
		Children:      childrenOfReverseWordsApp,
		Lease:         "1ef59d40.linuxera.org",
		Ready: func(owner client.Object) (metav1.ConditionStatus, string) {
			if owner.(*v1alpha1.ReverseWordsApp).Spec.AppVersion == noSuchVersion {
				return metav1.ConditionFalse, "ImagePullBackOff"
			}
			return metav1.ConditionTrue, "Available"
		},
	}
}

func editReverseWordsApp(random *rand.Rand, owner client.Object) {
	spec := &owner.(*v1alpha1.ReverseWordsApp).Spec
	spec.Replicas = random.Int32N(4)
	spec.AppVersion = pick(random, "latest", "0.0.1", "0.0.2", "0.0.3", noSuchVersion)
	spec.ServiceType = pick(random, serviceTypes...)
}

func childrenOfReverseWordsApp(owner client.Object) []Child {
	app := owner.(*v1alpha1.ReverseWordsApp)
	selector := selectorOf("reversewordsapp", app, "web")
	return childrenOf("ReverseWordsApp", "spec-hash.trueup-go.github.io/reverse-words-operator", true,
		parse(`
kind: Deployment
metadata:
  name: dp-%[1]s
  labels: {%[4]s, app: %[1]s, app.kubernetes.io/managed-by: reverse-words-operator}
spec:
  replicas: %[2]d
  selector: {matchLabels: {%[4]s}}
  template:
    metadata:
      labels: {%[4]s, app: %[1]s, app.kubernetes.io/managed-by: reverse-words-operator}
    spec:
      containers:
      - name: reversewords
        image: "quay.io/mavazque/reversewords:%[3]s"
        ports: [{name: reversewords, containerPort: 8080}]
        livenessProbe: {httpGet: {path: /health, port: 8080}, initialDelaySeconds: 5, timeoutSeconds: 2, periodSeconds: 15}
        readinessProbe: {httpGet: {path: /health, port: 8080}, initialDelaySeconds: 5, timeoutSeconds: 2, periodSeconds: 15}
`, app.Name, max(app.Spec.Replicas, 1), app.Spec.AppVersion, selector),
		parse(`
kind: Service
metadata:
  name: service-%[1]s
  labels: {%[3]s, app: %[1]s, app.kubernetes.io/managed-by: reverse-words-operator}
spec:
  type: %[2]s
  selector: {%[3]s}
  ports: [{name: http, port: 8080}]
`, app.Name, app.Spec.ServiceType, selector),
	)
}
