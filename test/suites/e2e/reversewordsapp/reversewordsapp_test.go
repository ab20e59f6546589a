package reversewordsapp_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestReverseWordsApp has one operator look after many ReverseWordsApps at once.
func TestReverseWordsApp(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"the samples get their children":                       testSamples,
		"defaults":                                             testDefaults,
		"no replicas count as one":                             testZeroReplicas,
		"replicas and version roll out in one write":           testChange,
		"every type of Service":                                testServiceTypes,
		"status and columns":                                   testStatus,
		"steady state":                                         testSteadyState,
		"two ReverseWordsApps in a namespace":                  testTwo,
		"a stranger with the label app":                        testStranger,
		"scale":                                                testScale,
		"the column counts what runs":                          testColumn,
		"the longest name":                                     testLongestName,
		"a child of that name is somebody else's":              testForeign,
		"invalid ReverseWordsApps are refused by the server":   testValidation,
		"finalizers of others stay when ours is added":         testOtherFinalizers,
		"our finalizer comes first, and back if it is removed": testFinalizerReturns,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

func testSamples(t *testing.T, process *operator.Process) {
	one := fixture{operator: process, namespace: shared.Namespace(t), name: "example-reversewordsapp"}
	two := one
	two.name += "-2"
	kubectl(t, "apply", "-n", one.namespace, "-k", filepath.Join(installed(t).Dir, "config", "samples"))
	one.settle(t)
	two.settle(t)
	require.Len(t, one.podNames(t), 1)
	require.Len(t, two.podNames(t), 2)
	require.Equal(t, []string{"finalizer.reversewordsapp.apps.linuxera.org"}, one.app(t).Finalizers)

	deployment := two.deployment(t)
	selector := selectorOf("example-reversewordsapp-2")
	require.Equal(t, int32(2), *deployment.Spec.Replicas)
	require.Equal(t, selector, deployment.Spec.Selector.MatchLabels)
	require.Equal(t, "example-reversewordsapp-2", deployment.Spec.Template.Labels["app"])
	require.Subset(t, deployment.Spec.Template.Labels, selector)
	probe := &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/health", Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTP,
		}},
		InitialDelaySeconds: 5, TimeoutSeconds: 2, PeriodSeconds: 15, SuccessThreshold: 1, FailureThreshold: 3,
	}
	want := corev1.Container{
		Name:           "reversewords",
		Image:          "quay.io/mavazque/reversewords:latest",
		Ports:          []corev1.ContainerPort{{Name: "reversewords", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		LivenessProbe:  probe,
		ReadinessProbe: probe,
	}
	got := deployment.Spec.Template.Spec.Containers[0]
	require.Empty(t, cmp.Diff(want, corev1.Container{
		Name: got.Name, Image: got.Image, Ports: got.Ports, LivenessProbe: got.LivenessProbe, ReadinessProbe: got.ReadinessProbe,
	}))

	service := two.service(t)
	require.Equal(t, corev1.ServiceTypeLoadBalancer, service.Spec.Type)
	require.Equal(t, selector, service.Spec.Selector)
	require.Equal(t, "http", service.Spec.Ports[0].Name)
	require.Equal(t, int32(8080), service.Spec.Ports[0].Port)

	for kind, child := range two.children(t) {
		require.Equal(t, "example-reversewordsapp-2", child.GetLabels()["app"], kind)
		require.Subset(t, child.GetLabels(), selector, kind)
		require.True(t, metav1.IsControlledBy(child, two.app(t)), kind)
	}
}

func testDefaults(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	require.NoError(t, admin(t).Create(t.Context(), f.named()))
	f.settle(t)
	want := v1alpha1.ReverseWordsAppSpec{Replicas: 1, AppVersion: "latest", ServiceType: corev1.ServiceTypeLoadBalancer}
	require.Empty(t, cmp.Diff(want, f.app(t).Spec))
	require.Len(t, f.podNames(t), 1)
}

func testZeroReplicas(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.change(t, `{"replicas":0}`)
	f.settle(t)
	require.Equal(t, "0", kubectl(t, "get", "reversewordsapp", f.name, "-n", f.namespace, "-o", "jsonpath={.spec.replicas}"))
	require.Len(t, f.podNames(t), 1)
}

func testChange(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	mark := shared.Mark()
	f.change(t, `{"appVersion":"v0.0.2","replicas":3}`)
	f.settle(t)
	require.Equal(t, map[string]int{"patch deployments": 1}, f.requests(t, mark))
	var pods []string
	for _, pod := range f.pods(t) {
		if pod.DeletionTimestamp == nil {
			require.Equal(t, "quay.io/mavazque/reversewords:v0.0.2", pod.Spec.Containers[0].Image)
			pods = append(pods, pod.Name)
		}
	}
	require.Len(t, pods, 3)
}

func testServiceTypes(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	for _, kind := range []corev1.ServiceType{
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer,
	} {
		mark, clusterIP := shared.Mark(), f.service(t).Spec.ClusterIP
		f.change(t, `{"serviceType":"`+string(kind)+`"}`)
		f.settle(t)
		require.Equal(t, kind, f.service(t).Spec.Type)
		require.Equal(t, clusterIP, f.service(t).Spec.ClusterIP)
		require.Equal(t, kind != corev1.ServiceTypeClusterIP, f.service(t).Spec.Ports[0].NodePort != 0)
		require.Equal(t, map[string]int{"patch services": 1}, f.requests(t, mark), kind)
	}
}

func testStatus(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.waitForPods(t, func() []string { return f.podNames(t) })
	want := f.app(t).Status
	require.Equal(t, []v1alpha1.Child{
		{Kind: "Deployment", Name: "dp-shop", UID: f.deployment(t).UID},
		{Kind: "Service", Name: "service-shop", UID: f.service(t).UID},
	}, want.Children)
	require.Empty(t, cmp.Diff(f.podNames(t), want.AppPods))
	require.Len(t, want.Conditions, 2)
	require.Equal(t, notReadyCondition, want.Conditions[0].Type)
	require.Equal(t, v1alpha1.ReadyCondition, want.Conditions[1].Type)
	require.Equal(t, "Available", want.Conditions[1].Reason)

	columns := strings.Fields(kubectl(t, "get", "rwa", "-n", f.namespace))
	require.Equal(t, []string{"NAME", "VERSION", "REPLICAS", "READY", "REASON", "AGE"}, columns[:6])
	require.Equal(t, []string{"shop", "latest", "2", "True", "Available"}, columns[6:11])

	// A user changes the status and adds a condition of another program. A change of its own
	// kind's status does not wake the operator; the next pass repairs the status.
	spoiled := f.app(t)
	spoiled.Status.Children = []v1alpha1.Child{{Kind: "Deployment", Name: "other", UID: "1"}}
	spoiled.Status.AppPods = nil
	spoiled.Status.ObservedGeneration = 99
	spoiled.Status.Conditions[1].Status, spoiled.Status.Conditions[1].Reason = metav1.ConditionFalse, "Spoiled"
	foreign := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "ByHand", LastTransitionTime: metav1.Now()}
	spoiled.Status.Conditions = append(spoiled.Status.Conditions[1:], foreign)
	require.NoError(t, admin(t).Status().Update(t.Context(), spoiled))
	f.reconcile(t)
	f.settle(t)
	got := f.app(t).Status
	require.Equal(t, want.Children, got.Children)
	require.Equal(t, want.AppPods, got.AppPods)
	require.Equal(t, want.ObservedGeneration, got.ObservedGeneration)
	require.Equal(t, foreign.Reason, condition(f.app(t), "Audited").Reason, "another writer's condition stays")

	// Remove the whole status.
	kubectl(t, "patch", "reversewordsapp", f.name, "-n", f.namespace, "--subresource=status", "--type=merge", "--patch", `{"status":null}`)
	require.Nil(t, f.app(t).Status.AppPods)
	f.reconcile(t)
	f.settle(t)
	require.Equal(t, want.AppPods, f.app(t).Status.AppPods)
}

func testSteadyState(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	app, mark := f.app(t), shared.Mark()
	for range 10 {
		f.reconcile(t)
	}
	require.Empty(t, f.allRequests(t, mark))
	require.Equal(t, app.Status, f.app(t).Status)
	tests.CheckEvents(t, process, app)
}

func testTwo(t *testing.T, process *operator.Process) {
	one := newFixture(t, process)
	two := one
	two.name = "shop-2"
	two.create(t, withVersion("v0.0.2"), func(app *v1alpha1.ReverseWordsApp) { app.Spec.Replicas = 1 })
	two.settle(t)
	one.settle(t)
	one.waitForPods(t, func() []string { return one.podNames(t) })
	two.waitForPods(t, func() []string { return two.podNames(t) })
	require.Len(t, one.podNames(t), 2)
	require.Len(t, two.podNames(t), 1)

	two.delete(t)
	two.waitUntilGone(t, two.name, two.named())
	one.settle(t)
}

// testStranger has a foreign pod with the label app of the ReverseWordsApp's pods. A third own pod shows
// that the Service's endpoints are up to date.
func testStranger(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	tests.CreateStranger(t, f.namespace, "stranger", f.name)
	f.change(t, `{"replicas":3}`)
	f.settle(t)
	eventually(t, func(context.Context) error {
		endpoints, own := tests.Endpoints(t, f.namespace, "service-"+f.name), f.app(t).Status.AppPods
		rest := slices.DeleteFunc(slices.Clone(endpoints), func(pod string) bool { return pod == "stranger" })
		if len(own) != 3 || !slices.Equal(own, rest) {
			return expect(false, "not yet the endpoints of all pods: %v of %v", endpoints, own)
		}
		require.NotContains(t, endpoints, "stranger")
		return nil
	})
}

func testScale(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	for replicas, pods := range map[int32]int32{3: 3, 0: 1} {
		kubectl(t, "scale", "rwa", f.name, "-n", f.namespace, "--replicas", strconv.Itoa(int(replicas)))
		f.settle(t)
		require.Len(t, f.podNames(t), int(pods))
		tests.CheckScale(t, f.named(), replicas, pods)
	}
}

func testColumn(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	column := func() string {
		return strings.Fields(kubectl(t, "get", "rwa", f.name, "-n", f.namespace, "--no-headers"))[2]
	}
	require.Equal(t, "2", column())
	pod := f.podNames(t)[0]
	f.setReady(t, pod, corev1.ConditionFalse)
	eventually(t, func(context.Context) error { return expect(column() == "1", "%s", column()) })
	f.setReady(t, pod, corev1.ConditionTrue)
	f.settle(t)
	require.Equal(t, "2", column())
	f.change(t, `{"appVersion":"pending","replicas":3}`)
	f.waitForReason(t, "Progressing")
	eventually(t, func(context.Context) error {
		status := f.deployment(t).Status
		return expect(status.Replicas > status.ReadyReplicas && column() == strconv.Itoa(int(status.ReadyReplicas)), "%+v, %s", status, column())
	})
}

func testLongestName(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: strings.Repeat("a", 55)}
	f.create(t)
	f.settle(t)
	require.Len(t, f.service(t).Name, 63)
	f.waitForPods(t, func() []string { return f.podNames(t) })
}

// testForeign creates another program's Service under the child's name. The operator leaves this
// Service alone, also when the ReverseWordsApp is deleted, and still ensures the Deployment.
func testForeign(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "service-shop"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}
	require.NoError(t, admin(t).Create(t.Context(), theirs))
	f.create(t)
	require.Contains(t, f.waitForReason(t, "Foreign").Message, "service-shop")
	eventually(t, func(context.Context) error {
		is := condition(f.app(t), notReadyCondition)
		return expect(is.Status == metav1.ConditionFalse, "the Deployment has no part in it: %+v", is)
	})
	f.waitForPods(t, func() []string { return f.podNames(t) })
	require.Equal(t, []v1alpha1.Child{{Kind: "Deployment", Name: "dp-shop", UID: f.deployment(t).UID}}, f.app(t).Status.Children)

	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
	require.Equal(t, theirs.ResourceVersion, f.service(t).ResourceVersion, "it is left alone")

	f.create(t)
	f.waitForReason(t, "Foreign")
	require.NoError(t, admin(t).Delete(t.Context(), theirs))
	f.reconcile(t)
	f.settle(t)
}

func testValidation(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	longest := strings.Repeat("a", 128)
	for _, test := range []struct {
		field            string
		accepted, others []string // others are refused
	}{
		{"replicas", []string{"0", "1", "1000"}, []string{"-1", "1001", "1.5", `"1"`, "4294967296"}},
		{
			"appVersion",
			[]string{`"latest"`, `"v0.0.2"`, `"_a"`, `"1"`, `"A-.-"`, `"` + longest + `"`},
			[]string{`""`, `"-a"`, `".a"`, `"a b"`, `"a:b"`, `"a@sha256"`, `"a/b"`, `"é"`, `"a\nb"`, `"a\n"`, `"` + longest + `a"`, "1"},
		},
		{"serviceType", []string{`"LoadBalancer"`, `"NodePort"`, `"ClusterIP"`}, []string{`"ExternalName"`, `""`, `"nodeport"`}},
	} {
		for _, value := range test.accepted {
			require.NoError(t, f.tryCreate(t, "shop", `{"`+test.field+`":`+value+`}`), "%s: %s", test.field, value)
		}
		for _, value := range test.others {
			err := f.tryCreate(t, "shop", `{"`+test.field+`":`+value+`}`)
			require.True(t, apierrors.IsInvalid(err), "%s: %s: %v", test.field, value, err)
			require.ErrorContains(t, err, "spec."+test.field)
		}
	}
	for _, name := range []string{"a", "1st", "a-b", strings.Repeat("a", 55)} {
		require.NoError(t, f.tryCreate(t, name, `{}`), name)
	}
	for _, name := range []string{"with.dots", strings.Repeat("a", 56)} {
		err := f.tryCreate(t, name, `{}`)
		require.True(t, apierrors.IsInvalid(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "the name must have at most 55 characters and no dot")
	}
}

// tryCreate asks the API server whether it would accept a ReverseWordsApp.
func (f fixture) tryCreate(t *testing.T, name, spec string) error {
	t.Helper()
	app := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(`{"apiVersion":"apps.linuxera.org/v1alpha1","kind":"ReverseWordsApp","spec":`+spec+`}`), &app.Object))
	app.SetNamespace(f.namespace)
	app.SetName(name)
	return admin(t).Create(t.Context(), app, client.DryRunAll)
}

// TestOldNames creates a ReverseWordsApp with a name that a former version of the CRD allowed. The present
// CRD still allows to edit and to delete it.
func TestOldNames(t *testing.T) {
	f := fixture{operator: start(t), namespace: shared.Namespace(t), name: strings.Repeat("a", 56)}
	const definition = "reversewordsapps.apps.linuxera.org"
	dir, rules := installed(t).Dir, "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations"
	kubectl(t, "patch", "crd", definition, "--type=json", "--patch", `[{"op":"remove","path":"`+rules+`"}]`)
	t.Cleanup(func() { restoreRules(t, dir) })
	eventually(t, func(context.Context) error { return f.tryCreate(t, f.name, `{}`) })
	f.create(t)
	restoreRules(t, dir)
	eventually(t, func(context.Context) error {
		return expect(apierrors.IsInvalid(f.tryCreate(t, f.name+"b", `{}`)), "the rule does not apply yet")
	})

	require.Contains(t, f.waitForReason(t, "InvalidName").Message, "leave room for 55")
	f.change(t, `{"replicas":3}`)
	require.Contains(t, f.waitForReason(t, "InvalidName").Message, "leave room for 55")
	f.isAbsent(t, "dp-"+f.name, &appsv1.Deployment{})
	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
}

// restoreRules applies the CRD again, also at the end of the test, when the test's context is done.
func restoreRules(t *testing.T, dir string) {
	t.Helper()
	path, err := cluster.Kubectl(context.Background())
	require.NoError(t, err)
	out, err := exec.CommandContext(context.Background(), path, "--kubeconfig", shared.Kubeconfig(), "apply", "--server-side", "--force-conflicts",
		"-k", filepath.Join(dir, "config", "crd")).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func testOtherFinalizers(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	f.create(t, func(app *v1alpha1.ReverseWordsApp) { app.Finalizers = []string{"example.org/first"} })
	f.settle(t)
	require.Equal(t, []string{"example.org/first", v1alpha1.Finalizer}, f.app(t).Finalizers)
	f.patch(t, f.named(), `{"metadata":{"finalizers":["`+v1alpha1.Finalizer+`"]}}`)
}

func testFinalizerReturns(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	mark := shared.Mark()
	f.create(t)
	f.settle(t)
	o := installed(t)
	requests, err := shared.Requests(mark)
	require.NoError(t, err)
	var writes []string
	for _, request := range requests {
		if request.User == o.User() && request.Namespace == f.namespace && request.Verb == "patch" {
			writes = append(writes, request.String())
		}
	}
	require.Equal(t, []string{"patch reversewordsapps", "patch deployments", "patch services"}, slices.Compact(writes)[:3])

	f.patch(t, f.named(), `{"metadata":{"finalizers":null}}`)
	eventually(t, func(context.Context) error {
		return expect(slices.Equal(f.app(t).Finalizers, []string{v1alpha1.Finalizer}), "no finalizer")
	})
	f.settle(t)
}
