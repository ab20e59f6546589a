package application_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestApplication has one operator look after many Applications at once.
func TestApplication(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"the sample gets its children":                   testSample,
		"defaults":                                       testDefaults,
		"status and columns":                             testStatus,
		"image and amountPods roll out in one write":     testChange,
		"a new title rolls out":                          testTitle,
		"a new version is on the pods":                   testVersion,
		"no pods":                                        testNoPods,
		"ready follows the pods":                         testReadyFollowsPods,
		"not ready by old pods":                          testOldPods,
		"steady state":                                   testSteadyState,
		"two Applications in a namespace":                testTwo,
		"names that do not fit":                          testNames,
		"the longest name":                               testLongestName,
		"a child of that name is somebody else's":        testForeign,
		"nothing is made for an Application on its way":  testForegroundDeletion,
		"invalid Applications are refused by the server": testValidation,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

func testSample(t *testing.T, process *operator.Process) {
	o := installed(t)
	text, err := os.ReadFile(filepath.Join(o.Dir, "config", "samples", "application.sample_v1alpha1_application.yaml"))
	require.NoError(t, err)
	var sample v1alpha1.Application
	require.NoError(t, yaml.UnmarshalStrict(text, &sample))
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "application1"}
	sample.Namespace = f.namespace
	require.NoError(t, admin(t).Create(t.Context(), &sample))
	f.settle(t)

	require.Equal(t, map[string][]byte{"GREETING_MESSAGE": []byte("World")}, f.secret(t).Data)

	deployment := f.deployment(t)
	require.Equal(t, int32(1), *deployment.Spec.Replicas)
	require.Equal(t, "1.0.0", deployment.Labels["app.kubernetes.io/version"])
	require.Equal(t, map[string]string{"app": "application1-microservice"}, deployment.Spec.Selector.MatchLabels)
	require.Equal(t, map[string]string{"app": "application1-microservice", "app.kubernetes.io/version": "1.0.0"},
		deployment.Spec.Template.Labels)
	want := corev1.Container{
		Name:  "application1-microservice",
		Image: image,
		Ports: []corev1.ContainerPort{{ContainerPort: 8081, Protocol: corev1.ProtocolTCP}},
		Env: []corev1.EnvVar{{Name: "GREETING_MESSAGE", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "application1-secret-greeting"},
			Key:                  "GREETING_MESSAGE",
		}}}},
	}
	got := deployment.Spec.Template.Spec.Containers[0]
	require.Equal(t, "/q/health/ready", got.ReadinessProbe.HTTPGet.Path)
	require.Equal(t, "/q/health/live", got.LivenessProbe.HTTPGet.Path)
	require.Equal(t, intstr.FromInt32(8081), got.ReadinessProbe.HTTPGet.Port)
	require.Equal(t, intstr.FromInt32(8081), got.LivenessProbe.HTTPGet.Port)
	require.Empty(t, cmp.Diff(want, corev1.Container{Name: got.Name, Image: got.Image, Ports: got.Ports, Env: got.Env}))

	service := f.service(t)
	require.Equal(t, corev1.ServiceTypeNodePort, service.Spec.Type)
	require.Equal(t, map[string]string{"app": "application1-microservice"}, service.Spec.Selector)
	require.Equal(t, int32(8081), service.Spec.Ports[0].Port)
	require.NotZero(t, service.Spec.Ports[0].NodePort, "the server allocates it")

	for kind, child := range f.children(t) {
		require.Regexp(t, "^[0-9a-f]{40}$", child.GetLabels()[digestLabel], "%s: RIPEMD-160, in hex", kind)
		require.Equal(t, "application-operator", child.GetLabels()["app.kubernetes.io/managed-by"], kind)
		owner := metav1.GetControllerOf(child)
		require.NotNil(t, owner, kind)
		require.Equal(t, f.application(t).UID, owner.UID, kind)
	}
}

func testDefaults(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
	manifest := filepath.Join(t.TempDir(), "application.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte(
		"apiVersion: application.sample.ibm.com/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n"), 0o600))
	kubectl(t, "apply", "-n", f.namespace, "-f", manifest)
	f.settle(t)
	require.Empty(t, cmp.Diff(v1alpha1.ApplicationSpec{Version: "1.0.0", AmountPods: new(int32(1)), Image: image},
		f.application(t).Spec))
	require.Len(t, f.pods(t), 1)
}

func testStatus(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	want := f.application(t).Status
	require.Equal(t, []v1alpha1.Child{
		{Kind: "Secret", Name: "shop-secret-greeting", UID: f.secret(t).UID},
		{Kind: "Deployment", Name: "shop-deployment-microservice", UID: f.deployment(t).UID},
		{Kind: "Service", Name: "shop-service-microservice", UID: f.service(t).UID},
	}, want.Children)
	require.Equal(t, "Ready", condition(f.application(t)).Reason)

	columns := strings.Fields(kubectl(t, "get", "applications", "-n", f.namespace))
	require.Equal(t, []string{"NAME", "VERSION", "PODS", "READY", "REASON", "AGE"}, columns[:6])
	require.Equal(t, []string{"shop", "1.0.0", "2", "True", "Ready"}, columns[6:11])

	// A user changes the status and adds a condition of another program. A change of the status
	// does not wake the operator; its next pass repairs the status.
	spoiled := f.application(t)
	spoiled.Status.Children = []v1alpha1.Child{{Kind: "Deployment", Name: "other", UID: "1"}}
	spoiled.Status.ObservedGeneration = 99
	spoiled.Status.Conditions[0].Status, spoiled.Status.Conditions[0].Reason = metav1.ConditionFalse, "Spoiled"
	foreign := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "ByHand", LastTransitionTime: metav1.Now()}
	spoiled.Status.Conditions = append(spoiled.Status.Conditions, foreign)
	require.NoError(t, admin(t).Status().Update(t.Context(), spoiled))
	f.reconcile(t)
	eventually(t, f.isReady)
	got := f.application(t).Status
	require.Equal(t, want.Children, got.Children)
	require.Equal(t, want.ObservedGeneration, got.ObservedGeneration)
	require.True(t, meta.IsStatusConditionTrue(got.Conditions, "Audited"), "another writer's condition stays")
}

func testChange(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark, digest := shared.Mark(), f.deployment(t).Labels[digestLabel]
	f.change(t, `{"image":"example.org/other:2","amountPods":3}`)
	f.settle(t)
	require.Equal(t, map[string]int{"patch deployments": 1}, f.requests(t, mark))
	require.Equal(t, 2, f.allRequests(t, mark)["patch applications/status"], "not ready, then ready")
	require.NotEqual(t, digest, f.deployment(t).Labels[digestLabel])
	pods := f.pods(t)
	require.Len(t, pods, 3)
	for _, pod := range pods {
		require.Equal(t, "example.org/other:2", pod.Spec.Containers[0].Image)
	}
}

func testTitle(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark, before := shared.Mark(), f.deployment(t).Spec.Template
	f.change(t, `{"title":"Universe"}`)
	f.settle(t)
	require.Equal(t, "Universe", string(f.secret(t).Data["GREETING_MESSAGE"]))
	require.Equal(t, map[string]int{"patch secrets": 1, "patch deployments": 1}, f.requests(t, mark))
	const annotation = "application.sample.ibm.com/greeting-hash"
	require.NotEqual(t, before.Annotations[annotation], f.deployment(t).Spec.Template.Annotations[annotation])
	for _, pod := range f.pods(t) {
		require.Equal(t, f.deployment(t).Spec.Template.Annotations[annotation], pod.Annotations[annotation], "new pods")
	}

	f.change(t, `{"title":null}`)
	f.settle(t)
	require.Equal(t, "World", string(f.secret(t).Data["GREETING_MESSAGE"]))
	require.Equal(t, before.Annotations, f.deployment(t).Spec.Template.Annotations)
}

func testVersion(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.change(t, `{"version":"1.1.0"}`)
	f.settle(t)
	for _, pod := range f.pods(t) {
		require.Equal(t, "1.1.0", pod.Labels["app.kubernetes.io/version"])
	}
}

func testNoPods(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.change(t, `{"amountPods":0}`)
	f.settle(t)
	require.Empty(t, f.pods(t))
	require.Equal(t, "0 of 0 pods are available", condition(f.application(t)).Message)
	f.change(t, `{"amountPods":1}`)
	f.settle(t)
	require.Len(t, f.pods(t), 1)
}

func testReadyFollowsPods(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark, pod := shared.Mark(), f.pods(t)[0]
	setReady := func(status corev1.ConditionStatus) {
		patch := `{"status":{"conditions":[{"type":"Ready","status":"` + string(status) + `"}]}}`
		require.NoError(t, admin(t).Status().Patch(t.Context(), &pod, client.RawPatch(types.StrategicMergePatchType, []byte(patch))))
	}
	setReady(corev1.ConditionFalse)
	f.waitForReason(t, "InProgress")
	setReady(corev1.ConditionTrue)
	f.settle(t)
	require.Empty(t, f.requests(t, mark), "nothing but the status was written")
}

func testOldPods(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.change(t, `{"image":"example.org/other:missing"}`)
	eventually(t, func(context.Context) error {
		status := f.deployment(t).Status
		return expect(status.UpdatedReplicas == 1 && status.AvailableReplicas == 2, "not one new pod beside two old ones: %+v", status)
	})
	f.waitForReason(t, "InProgress")
	f.reconcile(t)
	require.Equal(t, "InProgress", condition(f.application(t)).Reason, "still")
	f.change(t, `{"image":"example.org/other:found"}`)
	f.settle(t)
}

func testSteadyState(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	before := f.children(t)
	app, mark := f.application(t), shared.Mark()
	for range 10 {
		f.reconcile(t)
	}
	require.Empty(t, f.allRequests(t, mark))
	for kind, child := range f.children(t) {
		require.Equal(t, before[kind].GetResourceVersion(), child.GetResourceVersion(), kind)
	}
	require.Equal(t, app.Status, f.application(t).Status)
	tests.CheckEvents(t, process, app)
}

func testTwo(t *testing.T, process *operator.Process) {
	one := newFixture(t, process)
	two := one
	two.name = "shop-2"
	two.create(t, func(app *v1alpha1.Application) { app.Spec.Title, app.Spec.AmountPods = "Moon", new(int32(1)) })
	two.settle(t)
	one.settle(t)
	require.Equal(t, "World", string(one.secret(t).Data["GREETING_MESSAGE"]))
	require.Equal(t, "Moon", string(two.secret(t).Data["GREETING_MESSAGE"]))
	require.Len(t, one.pods(t), 2)
	require.Len(t, two.pods(t), 1)
}

func testNames(t *testing.T, process *operator.Process) {
	namespace := shared.Namespace(t)
	for name, message := range map[string]string{
		strings.Repeat("a", 40): "leave room for 39",
		"with.dots":             "DNS-1035",
		"1st":                   "DNS-1035",
	} {
		f := fixture{operator: process, namespace: namespace, name: name}
		f.create(t)
		require.Contains(t, f.waitForReason(t, "InvalidName").Message, message)
		mark := shared.Mark()
		f.reconcile(t)
		require.Empty(t, f.allRequests(t, mark), "what cannot be helped is not tried again and again")
		eventually(t, func(context.Context) error {
			warnings := tests.Warnings(t, namespace, name, "InvalidName")
			return expect(len(warnings) == 1, "%v", warnings)
		})
	}
	var children corev1.SecretList
	require.NoError(t, admin(t).List(t.Context(), &children, client.InNamespace(namespace)))
	require.Empty(t, children.Items)
}

func testLongestName(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: strings.Repeat("a", 39)}
	f.create(t)
	f.settle(t)
	require.Len(t, f.deployment(t).Name, 63)
}

func testForeign(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "shop-secret-greeting"}}
	require.NoError(t, admin(t).Create(t.Context(), theirs))
	f.create(t)
	ready := f.waitForReason(t, "Foreign")
	require.Contains(t, ready.Message, "shop-secret-greeting")
	require.Equal(t, theirs.ResourceVersion, f.secret(t).ResourceVersion, "it is left alone")

	require.NoError(t, admin(t).Delete(t.Context(), theirs))
	f.patch(t, f.application(t), `{"metadata":{"annotations":{"helped":"yes"}}}`)
	f.settle(t)
}

// testForegroundDeletion keeps the Application while its children are being deleted.
func testForegroundDeletion(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.patch(t, f.application(t), `{"metadata":{"finalizers":["example.org/hold"]}}`)
	f.reconcile(t)
	mark := shared.Mark()
	require.NoError(t, admin(t).Delete(t.Context(), f.application(t)))
	f.reconcile(t) // the operator knows
	require.NoError(t, admin(t).Delete(t.Context(), f.service(t)))
	f.reconcile(t)
	require.Empty(t, f.allRequests(t, mark))
	err := admin(t).Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: "shop-service-microservice"}, &corev1.Service{})
	require.True(t, apierrors.IsNotFound(err), "the Service stays away: %v", err)
	f.patch(t, f.application(t), `{"metadata":{"finalizers":null}}`)
}

func testValidation(t *testing.T, _ *operator.Process) {
	namespace := shared.Namespace(t)
	for field, spec := range map[string]v1alpha1.ApplicationSpec{
		"spec.amountPods": {AmountPods: new(int32(-1))},
		"spec.version":    {Version: "-1"},
		"spec.title":      {Title: strings.Repeat("x", 1025)},
		"spec.image":      {Image: strings.Repeat("x", 1025)},
	} {
		err := admin(t).Create(t.Context(), &v1alpha1.Application{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: spec,
		})
		require.True(t, apierrors.IsInvalid(err), "%s: %v", field, err)
		require.ErrorContains(t, err, field)
	}
}
