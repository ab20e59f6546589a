package owners

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
)

func application() *Kind {
	return &Kind{
		Operator:      "application",
		ListsChildren: true,
		Prefix:        "greeter",
		AddToScheme:   v1alpha1.AddToScheme,
		New:           func() client.Object { return &v1alpha1.Application{} },
		Edit:          editApplication,
		Children:      childrenOfApplication,
		Ready:         isReady,
	}
}

func editApplication(random *rand.Rand, owner client.Object) {
	spec := &owner.(*v1alpha1.Application).Spec
	spec.Version = fmt.Sprintf("1.%d.%d", random.IntN(10), random.IntN(10))
	spec.AmountPods = new(random.Int32N(4))
	spec.Image = pick(random, "", "example.org/microservice:1", "example.org/microservice:2")
	spec.Title = pick(random, "", "World", "Đorđe", "\"quoted\"\nand more", fmt.Sprintf("number %d", random.IntN(1000)))
}

func childrenOfApplication(owner client.Object) []Child {
	app := owner.(*v1alpha1.Application)
	title, image := app.Spec.Title, app.Spec.Image
	if title == "" {
		title = "World"
	}
	if image == "" {
		image = "docker.io/nheidloff/simplemicroservice:v1.0.117"
	}
	selector := selectorOf("application", app, "microservice")
	return childrenOf("Application", "utilities.operators.sample.ibm.com/hash", false,
		parse(`
kind: Secret
metadata:
  name: %[1]s-secret-greeting
  labels: {%[3]s, app: %[1]s-microservice, app.kubernetes.io/managed-by: application-operator}
data: {GREETING_MESSAGE: %[2]q}
`, app.Name, base64.StdEncoding.EncodeToString([]byte(title)), selector),
		parse(`
kind: Deployment
metadata:
  name: %[1]s-deployment-microservice
  labels: {%[5]s, app: %[1]s-microservice, app.kubernetes.io/version: %[2]q, app.kubernetes.io/managed-by: application-operator}
spec:
  replicas: %[3]d
  selector: {matchLabels: {%[5]s}}
  template:
    metadata:
      labels: {%[5]s, app: %[1]s-microservice, app.kubernetes.io/version: %[2]q, app.kubernetes.io/managed-by: application-operator}
    spec:
      containers:
      - name: %[1]s-microservice
        image: %[4]s
        ports: [{containerPort: 8081}]
        env:
        - name: GREETING_MESSAGE
          valueFrom: {secretKeyRef: {name: %[1]s-secret-greeting, key: GREETING_MESSAGE}}
        readinessProbe: {httpGet: {path: /q/health/ready, port: 8081}, initialDelaySeconds: 20}
        livenessProbe: {httpGet: {path: /q/health/live, port: 8081}, initialDelaySeconds: 40}
`, app.Name, app.Spec.Version, ptr.Deref(app.Spec.AmountPods, 1), image, selector),
		parse(`
kind: Service
metadata:
  name: %[1]s-service-microservice
  labels: {%[2]s, app: %[1]s-microservice, app.kubernetes.io/managed-by: application-operator}
spec:
  type: NodePort
  selector: {%[2]s}
  ports: [{port: 8081}]
`, app.Name, selector),
	)
}
