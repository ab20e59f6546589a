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
	"k8s.io/utils/ptr"
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
		"names that do not fit are refused":              testNames,
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
	selector := map[string]string{
		"app.kubernetes.io/name": "application", "app.kubernetes.io/instance": "application1",
		"app.kubernetes.io/component": "microservice",
	}
	require.Equal(t, selector, deployment.Spec.Selector.MatchLabels)
	require.Equal(t, map[string]string{
		"app.kubernetes.io/name": "application", "app.kubernetes.io/instance": "application1",
		"app.kubernetes.io/component": "microservice", "app.kubernetes.io/version": "1.0.0",
		"app.kubernetes.io/managed-by": "application-operator", "app": "application1-microservice",
	}, deployment.Spec.Template.Labels)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, deployment.Spec.Template.Spec.SecurityContext.SeccompProfile.Type)
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
	require.Equal(t, int32(20), got.ReadinessProbe.InitialDelaySeconds)
	require.Equal(t, int32(40), got.LivenessProbe.InitialDelaySeconds)
	require.Empty(t, cmp.Diff(want, corev1.Container{Name: got.Name, Image: got.Image, Ports: got.Ports, Env: got.Env}))

	service := f.service(t)
	require.Equal(t, corev1.ServiceTypeNodePort, service.Spec.Type)
	require.Equal(t, selector, service.Spec.Selector)
	require.Equal(t, int32(8081), service.Spec.Ports[0].Port)
	require.NotZero(t, service.Spec.Ports[0].NodePort, "the server allocates it")

	for kind, child := range f.children(t) {
		require.Regexp(t, "^[0-9a-f]{40}$", child.GetLabels()[digestLabel], "%s: RIPEMD-160, in hex", kind)
		require.Equal(t, "application-operator", child.GetLabels()["app.kubernetes.io/managed-by"], kind)
		require.Equal(t, "application1-microservice", child.GetLabels()["app"], kind)
		require.Equal(t, "application1", child.GetLabels()["app.kubernetes.io/instance"], kind)
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
	require.Equal(t, "2 of 2 pods are available", condition(f.application(t)).Message)
	require.Equal(t, "app.kubernetes.io/component=microservice,app.kubernetes.io/instance=shop,app.kubernetes.io/name=application",
		want.Selector)

	columns := strings.Fields(kubectl(t, "get", "ibmapp", "-n", f.namespace))
	require.Equal(t, []string{"NAME", "VERSION", "PODS", "REPLICAS", "READY", "REASON", "AGE"}, columns[:7])
	require.Equal(t, []string{"shop", "1.0.0", "2", "2", "True", "Ready"}, columns[7:13])

	// A user changes the status and adds a condition of another program. A change of the status
	// does not wake the operator; its next pass repairs the status.
	spoiled := f.application(t)
	spoiled.Status.Children = []v1alpha1.Child{{Kind: "Deployment", Name: "other", UID: "1"}}
	spoiled.Status.ObservedGeneration = 99
	spoiled.Status.Replicas, spoiled.Status.Selector = new(int32(99)), "app=other"
	spoiled.Status.Conditions[0].Status, spoiled.Status.Conditions[0].Reason = metav1.ConditionFalse, "Spoiled"
	foreign := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "ByHand", LastTransitionTime: metav1.Now()}
	spoiled.Status.Conditions = append(spoiled.Status.Conditions, foreign)
	require.NoError(t, admin(t).Status().Update(t.Context(), spoiled))
	f.reconcile(t)
	eventually(t, f.isReady)
	got := f.application(t).Status
	require.Equal(t, want.Children, got.Children)
	require.Equal(t, want.ObservedGeneration, got.ObservedGeneration)
	require.Equal(t, want.Replicas, got.Replicas)
	require.Equal(t, want.Selector, got.Selector)
	require.True(t, meta.IsStatusConditionTrue(got.Conditions, "Audited"), "another writer's condition stays")
}

func testChange(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark, digest := shared.Mark(), f.deployment(t).Labels[digestLabel]
	f.change(t, `{"image":"example.org/other:2","amountPods":3}`)
	f.settle(t)
	require.Equal(t, map[string]int{"patch deployments": 1}, f.requests(t, mark))
	require.LessOrEqual(t, f.allRequests(t, mark)["patch applications/status"], 3, "not ready, a third pod, ready")
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
	require.Equal(t, 2, f.allRequests(t, mark)["patch applications/status"], "not ready, then ready")
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
	require.NotRegexp(t, `\d pod`, f.waitForReason(t, "InProgress").Message, "a rollout would write each number")
	eventually(t, func(context.Context) error {
		got := ptr.Deref(f.application(t).Status.Replicas, -1)
		return expect(got == 1, "%d pods are ready", got)
	})
	setReady(corev1.ConditionTrue)
	f.settle(t)
	require.Equal(t, new(int32(2)), f.application(t).Status.Replicas)
	require.Empty(t, f.requests(t, mark), "nothing but the status was written")
}

func testOldPods(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.change(t, `{"image":"example.org/other:missing"}`)
	eventually(t, func(context.Context) error {
		status := f.deployment(t).Status
		return expect(status.UpdatedReplicas == 1 && status.AvailableReplicas == 2, "not one new pod beside two old ones: %+v", status)
	})
	f.waitForReason(t, "ImagePullBackOff")
	f.reconcile(t)
	require.Equal(t, "ImagePullBackOff", condition(f.application(t)).Reason, "still")
	require.Equal(t, new(int32(2)), f.application(t).Status.Replicas, "the old ones serve")
	f.change(t, `{"image":"example.org/other:found"}`)
	f.settle(t)
}

func testSteadyState(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	app, mark := f.application(t), shared.Mark()
	for range 10 {
		f.reconcile(t)
	}
	require.Empty(t, f.allRequests(t, mark))
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

func testNames(t *testing.T, _ *operator.Process) {
	namespace := shared.Namespace(t)
	for name, message := range badNames {
		err := admin(t).Create(t.Context(), &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		require.True(t, apierrors.IsInvalid(err), "%s: %v", name, err)
		require.ErrorContains(t, err, message)
	}
	for _, name := range []string{"a", "a1", "a-1", "application1", strings.Repeat("a", 39)} {
		app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		require.NoError(t, admin(t).Create(t.Context(), app, client.DryRunAll))
	}
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
	f.requireWarnings(t, "Foreign", "shop-secret-greeting")

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

// testValidation asks the server about values at both sides of each limit.
func testValidation(t *testing.T, _ *operator.Process) {
	namespace := shared.Namespace(t)
	create := func(spec v1alpha1.ApplicationSpec) error {
		return admin(t).Create(t.Context(), &v1alpha1.Application{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: spec,
		}, client.DryRunAll)
	}
	for field, specs := range map[string][]v1alpha1.ApplicationSpec{
		"spec.amountPods": {{AmountPods: new(int32(-1))}, {AmountPods: new(int32(1001))}},
		"spec.version":    {{Version: "-1"}, {Version: "1."}, {Version: "1 0"}, {Version: "1/0"}, {Version: strings.Repeat("1", 64)}},
		"spec.title":      {{Title: strings.Repeat("x", 1025)}},
		"spec.image": {
			{Image: strings.Repeat("x", 1025)},
			{Image: "shop 1"},
			{Image: "Shop"},
			{Image: "shop:"},
			{Image: "shop:-1"},
			{Image: "example.org/"},
			{Image: "example.org//shop"},
			{Image: "https://example.org/shop"},
			{Image: "shop@sha256:1"},
			{Image: "shop:" + strings.Repeat("1", 129)},
			{Image: "shop\n"},
			{Image: "-shop"},
			{Image: "example.org:port/shop"},
			{Image: "example..org/shop"},
		},
	} {
		for _, spec := range specs {
			err := create(spec)
			require.True(t, apierrors.IsInvalid(err), "%+v: %v", spec, err)
			require.ErrorContains(t, err, field)
		}
	}
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	for _, spec := range []v1alpha1.ApplicationSpec{
		{AmountPods: new(int32(0))},
		{AmountPods: new(int32(1000))},
		{Version: "v1.0.0-rc.1_x"},
		{Version: strings.Repeat("1", 63)},
		{Title: strings.Repeat("é", 1024)},
		{Image: "shop"},
		{Image: "shop:1.0_A-b"},
		{Image: "shop" + digest},
		{Image: "library/my_shop/a--b__c.d:" + strings.Repeat("1", 128)},
		{Image: "localhost:5000/shop"},
		{Image: "[fd00::1]:5000/shop:1"},
		{Image: "Registry-1.example.org:5000/team/shop:1.0" + digest},
		{Image: image},
	} {
		require.NoError(t, create(spec), "%+v", spec)
	}
}
