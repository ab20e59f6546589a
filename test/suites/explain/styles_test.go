package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
)

func TestKubectlApply(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	kubectl(t, namespace, manifest, "apply", "-f", "-")
	mark := shared.Mark()

	report := explain(t, namespace, "deployment/web")

	requireRequests(t, mark, namespace, map[string]int{"get deployments": 1})
	requireParts(t, report, namespace,
		"Deployment NAMESPACE/web (apps/v1), created AGE\ncontroller  none\ntrueup  no field owner: the object has no digest of trueup\n",
		"kubectl-client-side-apply Update, AGE, ", "    spec.replicas  2\n", "    spec.template  (11 fields)\n")
}

func TestKubectlApplyServerSide(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	kubectl(t, namespace, manifest, "apply", "--server-side", "-f", "-")

	report := explain(t, namespace, "deploy", "web", "--unowned")

	requireParts(t, report, namespace, `
kubectl Apply, AGE, 5 fields
    metadata.labels.app  "web"
    spec.replicas  2
    spec.selector  {"matchLabels":{"app":"web"}}
    spec.template.metadata.labels.app  "web"
    spec.template.spec.containers[name=web].image  "registry.example.com/web:1"

`, "    spec.progressDeadlineSeconds  600\n", "    spec.template.spec.containers[name=web].imagePullPolicy  \"IfNotPresent\"\n")
}

func TestCreateOrUpdate(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	operator, site := clientOf(t, "shop-operator"), owner(t, namespace)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	_, err := controllerutil.CreateOrUpdate(t.Context(), operator, d, func() error {
		d.Labels, d.Spec = deployment(t, namespace).Labels, deployment(t, namespace).Spec
		return controllerutil.SetControllerReference(site, d, operator.Scheme())
	})
	require.NoError(t, err)

	report := explain(t, namespace, "deployment.v1.apps/web", "--expand")

	requireParts(t, report, namespace, "controller  ConfigMap site\n", "shop-operator Update, AGE, ",
		"    spec.template.spec.containers[name=web].image  \"registry.example.com/web:1\"\n", "    spec.template.spec.restartPolicy  \"Always\"\n")
}

// owner creates an object that may own others.
func owner(t *testing.T, namespace string) *corev1.ConfigMap {
	t.Helper()
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "site"}}
	require.NoError(t, clientOf(t, "user").Create(t.Context(), site))
	return site
}

// Helm creates an object, a person applies a label that is already there, and another edits the image.
func TestSeveralManagers(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	require.NoError(t, clientOf(t, "test").Create(t.Context(), deployment(t, namespace), client.FieldOwner("helm")))
	kubectl(t, namespace, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: web, team: shop}}\n",
		"apply", "--server-side", "--field-manager=team", "-f", "-")
	kubectl(t, namespace, "", "set", "image", "deployment/web", "web=registry.example.com/web:2")

	report := explain(t, namespace, "deployment/web")

	requireParts(t, report, namespace, "shared  1 field with several owners, marked by *\n",
		"helm Update, AGE, ", "  * metadata.labels.app  \"web\"  also team Apply\n", `
team Apply, AGE, 2 fields
  * metadata.labels.app  "web"  also helm Update
    metadata.labels.team  "shop"
`, `
kubectl-set Update, AGE, 1 field
    spec.template.spec.containers[name=web].image  "registry.example.com/web:2"
`)
}

// An operator uses trueup, an autoscaler scales the object, and a person edits the object.
func TestTrueup(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	operator, site := clientOf(t, "website-operator"), owner(t, namespace)
	desired := deployment(t, namespace)
	e := ensure.New(operator, operator, "website-operator")
	_, err := ensure.Object(t.Context(), e, desired, ensure.ControlledBy(site))
	require.NoError(t, err)
	autoscale(t, desired, 5)
	kubectl(t, namespace, "", "annotate", "deployment", "web", "note=hello")

	report := explain(t, namespace, "deployment/web")

	requireParts(t, report, namespace, "controller  ConfigMap site\n",
		"trueup  website-operator: digest DIGEST, applied 6 fields AGE\n",
		"newer  kubectl-annotate Update, AGE; after website-operator\n", "newer  hpa Update/scale, ",
		"website-operator Apply, AGE, 6 fields, by trueup\n    metadata.annotations[spec-hash.trueup-go.github.io/website-operator]  \"DIGEST\"\n",
		"hpa Update/scale, ", "    spec.replicas  5\n", "kubectl-annotate Update, AGE, 1 field\n    metadata.annotations.note  \"hello\"\n")
}

// autoscale scales as an autoscaler does, which reads the scale first.
func autoscale(t *testing.T, d *appsv1.Deployment, replicas int32) {
	t.Helper()
	autoscaler := clientOf(t, "hpa").SubResource("scale")
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		scale := &autoscalingv1.Scale{}
		if err := autoscaler.Get(t.Context(), d, scale); err != nil {
			return err
		}
		scale.Spec.Replicas = replicas
		return autoscaler.Update(t.Context(), d, client.WithSubResourceBody(scale))
	}))
}

// A Secret that kubectl applied, and that trueup adopted.
func TestSecret(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	kubectl(t, namespace, "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: hunter2}\n", "apply", "-f", "-")
	operator := clientOf(t, "website-operator")
	desired := secret(namespace, "hunter2")
	_, err := ensure.Object(t.Context(), ensure.New(operator, operator, "website-operator"), desired, ensure.Adopt())
	require.NoError(t, err)
	mark := shared.Mark()

	file := write(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\ndata: {password: Y2hhbmdlZC1odW50ZXIy}\n")
	report := explain(t, namespace, "secret/login", "-f", file, "--field-manager=website-operator")
	report += explain(t, namespace, "secret/login", "-f", file, "--field-manager=website-operator", "--expand", "--unowned", "-o=json")

	requireRequests(t, mark, namespace, map[string]int{"get secrets": 2, "patch secrets (dry run)": 2})
	requireParts(t, report, namespace, "trueup  website-operator: digest DIGEST, adopted, applied 2 fields AGE\n",
		"  * data.password  (masked)  also kubectl-client-side-apply Update\n", "    changed  data.password: (masked)\n",
		"    takes from kubectl-client-side-apply Update: data.password\n",
		"    metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]  (masked)\n")
	for _, content := range []string{"hunter2", "aHVudGVyMg", "Y2hhbmdlZC1odW50ZXIy"} {
		require.NotContains(t, report, content)
	}
}
