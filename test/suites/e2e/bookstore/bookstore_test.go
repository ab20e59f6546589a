package bookstore_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestBookStore has one operator look after many BookStores at once.
func TestBookStore(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"the sample gets its children":  testSample,
		"defaults":                      testDefaults,
		"in order":                      testOrder,
		"status and columns":            testStatus,
		"steady state":                  testSteadyState,
		"two BookStores in a namespace": testTwo,
		"no pods":                       testNoPods,
		"a deleted pod comes back on the same claim": testDeletedPod,
		"scale":                                        testScale,
		"the column counts what runs":                  testColumn,
		"strangers with the label app":                 testStrangers,
		"the longest name":                             testLongestName,
		"a child of that name is somebody else's":      testForeign,
		"a Service with the name of the article":       testMongoDBService,
		"that Service is somebody else's":              testForeignMongoDBService,
		"access to the database":                       testDatabaseAccess,
		"invalid BookStores are refused by the server": testValidation,
		"finalizers of others stay when ours is added": testOtherFinalizers,
		"our finalizer comes back if it is removed":    testFinalizerReturns,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

func testSample(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "example-bookstore"}
	kubectl(t, "apply", "-n", f.namespace, "-k", filepath.Join(installed(t).Dir, "config", "samples"))
	f.settle(t)
	require.Equal(t, []string{"bookstores.blog.velotio.com/database"}, f.store(t).Finalizers)

	set, label := f.set(t), selectorOf(f.name, "database")
	require.Equal(t, int32(1), *set.Spec.Replicas)
	require.Equal(t, label, set.Spec.Selector.MatchLabels)
	require.Equal(t, "example-bookstore-mongodb", set.Spec.ServiceName)
	require.Empty(t, cmp.Diff(corev1.Container{
		Name: "mongodb", Image: "mongo:latest", ImagePullPolicy: corev1.PullIfNotPresent,
		Args:         []string{"--bind_ip_all", "--port=27017"},
		Ports:        []corev1.ContainerPort{{Name: "mongodb", ContainerPort: 27017, Protocol: corev1.ProtocolTCP}},
		VolumeMounts: []corev1.VolumeMount{{Name: "mongodb-pvc", MountPath: "/data/db"}},
	}, essence(&set.Spec.Template)))
	require.Len(t, set.Spec.VolumeClaimTemplates, 1)
	require.Equal(t, "mongodb-pvc", set.Spec.VolumeClaimTemplates[0].Name)
	require.Equal(t, "2Gi", template(set))
	require.Equal(t, &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: "Retain", WhenScaled: "Retain"},
		set.Spec.PersistentVolumeClaimRetentionPolicy)
	claim := f.claim(t, 0)
	require.Equal(t, "mongodb-pvc-example-bookstore-mongodb-0", claim.Name)
	require.Equal(t, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, claim.Spec.AccessModes)
	require.Equal(t, claim.Name, f.pod(t, 0).Spec.Volumes[0].PersistentVolumeClaim.ClaimName)

	headless := f.service(t, "example-bookstore-mongodb")
	require.Equal(t, corev1.ClusterIPNone, headless.Spec.ClusterIP)
	require.Equal(t, label, headless.Spec.Selector)
	require.Equal(t, int32(27017), headless.Spec.Ports[0].Port)

	app := f.app(t)
	require.Equal(t, int32(1), *app.Spec.Replicas)
	require.Empty(t, cmp.Diff(corev1.Container{
		Name: "bookstore", Image: "akash125/pyapp:latest", ImagePullPolicy: corev1.PullIfNotPresent,
		Env: []corev1.EnvVar{
			{Name: "DB_HOST", Value: "example-bookstore-mongodb-0.example-bookstore-mongodb"}, {Name: "DB_PORT", Value: "27017"},
		},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 3000, Protocol: corev1.ProtocolTCP}},
	}, essence(&app.Spec.Template)))

	front := f.service(t, "example-bookstore-app")
	require.Equal(t, corev1.ServiceTypeLoadBalancer, front.Spec.Type)
	require.Equal(t, selectorOf(f.name, "app"), front.Spec.Selector)
	require.Equal(t, front.Spec.Selector, app.Spec.Selector.MatchLabels)
	for _, child := range f.children(t) {
		require.Contains(t, []string{"example-bookstore-app", "example-bookstore-mongodb"}, child.GetLabels()["app"], "%T", child)
		require.Subset(t, child.GetLabels(), selectorOf(f.name, child.GetLabels()["app.kubernetes.io/component"]), "%T", child)
	}
	require.Subset(t, claim.Labels, label)
	require.NotContains(t, claim.Labels, "app.kubernetes.io/managed-by")
	require.Equal(t, "example-bookstore-mongodb", f.pod(t, 0).Labels["app"])
	require.Equal(t, "bookstore-operator", f.pod(t, 0).Labels["app.kubernetes.io/managed-by"])
	require.Equal(t, int32(80), front.Spec.Ports[0].Port)
	require.Equal(t, intstr.FromInt32(3000), front.Spec.Ports[0].TargetPort)
}

// essence returns the container without the server's defaults and without its probe.
func essence(pod *corev1.PodTemplateSpec) corev1.Container {
	is := pod.Spec.Containers[0]
	return corev1.Container{
		Name: is.Name, Image: is.Image, ImagePullPolicy: is.ImagePullPolicy,
		Args: is.Args, Env: is.Env, Ports: is.Ports, VolumeMounts: is.VolumeMounts,
	}
}

// testDefaults leaves out as many fields as each way of writing permits. A Go client sends replicas
// because it could not ask for none otherwise.
func testDefaults(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	want := v1alpha1.BookStoreSpec{
		BookApp: v1alpha1.BookApp{
			Repository: "akash125/pyapp", Tag: "latest", ImagePullPolicy: corev1.PullIfNotPresent,
			Replicas: 1, Port: 80, TargetPort: 3000, ServiceType: corev1.ServiceTypeLoadBalancer,
		},
		BookDB: v1alpha1.BookDB{
			Repository: "mongo", Tag: "latest", ImagePullPolicy: corev1.PullIfNotPresent,
			Replicas: 1, Port: 27017, DBSize: resource.MustParse("2Gi"), Retain: new(true), MongoDBService: new(true),
		},
	}
	for name, rest := range map[string]string{
		"bare": "", "empty": "spec: {}\n", "parts": "spec:\n  bookApp: {}\n  bookDB: {}\n",
	} {
		manifest := filepath.Join(t.TempDir(), "bookstore.yaml")
		require.NoError(t, os.WriteFile(manifest, []byte(
			"apiVersion: blog.velotio.com/v1alpha1\nkind: BookStore\nmetadata:\n  name: "+name+"\n"+rest), 0o600))
		kubectl(t, "apply", "-n", f.namespace, "-f", manifest)
		f.name = name
		require.Empty(t, cmp.Diff(want, f.store(t).Spec), name)
	}
	f.settle(t)

	f.name = "typed"
	require.NoError(t, admin(t).Create(t.Context(), f.named()))
	want.BookApp.Replicas, want.BookDB.Replicas = 0, 0
	require.Empty(t, cmp.Diff(want, f.store(t).Spec))
	f.settle(t)
}

// testOrder looks at when the children were made, and whose they are.
func testOrder(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	mark := shared.Mark()
	f.create(t)
	f.settle(t)
	require.Equal(t, []string{
		"patch bookstores shop", "patch services mongodb-service", "patch services shop-mongodb", "patch statefulsets shop-mongodb",
		"patch deployments shop-app", "patch services shop-app",
	}, f.writes(t, mark))

	owner := metav1.NewControllerRef(f.store(t), v1alpha1.GroupVersion.WithKind("BookStore"))
	for _, child := range f.children(t) {
		require.Empty(t, cmp.Diff([]metav1.OwnerReference{*owner}, child.GetOwnerReferences()), "%T", child)
		require.Equal(t, "bookstore-operator", child.GetLabels()["app.kubernetes.io/managed-by"], "%T", child)
	}
	require.Empty(t, f.claim(t, 0).OwnerReferences, "the claim outlives the BookStore")
}

// writes are the operator's since the mark, each once, the status's left out.
func (f fixture) writes(t *testing.T, since cluster.Mark) []string {
	t.Helper()
	o := installed(t)
	requests, err := shared.Requests(since, cluster.ByUser(o.User()), cluster.NoEvents, func(r cluster.Request) bool {
		return r.Namespace == f.namespace && r.Verb != "get" && r.Verb != "list" && r.String() != "patch bookstores/status"
	})
	require.NoError(t, err)
	var writes []string
	for _, request := range requests {
		if write := request.String() + " " + request.Name; !slices.Contains(writes, write) {
			writes = append(writes, write)
		}
	}
	return writes
}

func testStatus(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	want := f.store(t).Status
	require.Equal(t, want.ObservedGeneration, f.store(t).Generation)
	require.Equal(t, []v1alpha1.Child{
		{Kind: "Service", Name: "shop-mongodb", UID: f.service(t, "shop-mongodb").UID},
		{Kind: "StatefulSet", Name: "shop-mongodb", UID: f.set(t).UID},
		{Kind: "Deployment", Name: "shop-app", UID: f.app(t).UID},
		{Kind: "Service", Name: "shop-app", UID: f.service(t, "shop-app").UID},
		{Kind: "Service", Name: "mongodb-service", UID: f.service(t, "mongodb-service").UID},
	}, want.Children)
	size := resource.MustParse("2Gi")
	require.Empty(t, cmp.Diff([]v1alpha1.Volume{
		{Name: f.claimName(0), UID: f.claim(t, 0).UID, Capacity: &size},
		{Name: f.claimName(1), UID: f.claim(t, 1).UID, Capacity: &size},
	}, want.Volumes))
	var types, reasons []string
	for _, is := range want.Conditions {
		types, reasons = append(types, is.Type), append(reasons, is.Reason)
	}
	require.Equal(t, []string{"DatabaseReady", "AppReady", "Ready", "MongoDBServiceReady", "VolumeResized"}, types)
	require.Equal(t, "DatabaseReady is True: 2 of 2 pods are available; AppReady is True: 2 of 2 pods are available", want.Conditions[2].Message)
	require.Equal(t, []string{"Ready", "Ready", "Ready", "Found", "Done"}, reasons)

	columns := strings.Fields(kubectl(t, "get", "bs", "-n", f.namespace))
	require.Equal(t, []string{"NAME", "REPLICAS", "SIZE", "READY", "REASON", "VOLUME", "AGE"}, columns[:7])
	require.Equal(t, []string{"shop", "2", "2Gi", "True", "Ready", "Done"}, columns[7:13])

	// A user changes the status and adds a condition of another program. A change of its own
	// kind's status does not wake the operator; the next pass repairs the status.
	spoiled := f.store(t)
	spoiled.Status.Children = []v1alpha1.Child{{Kind: "Deployment", Name: "other", UID: "1"}}
	spoiled.Status.Volumes = []v1alpha1.Volume{{Name: "other", UID: "1"}}
	spoiled.Status.ObservedGeneration, spoiled.Status.Replicas, spoiled.Status.Selector = 99, new(int32(7)), "app=other"
	spoiled.Status.Conditions[1].Status, spoiled.Status.Conditions[1].Reason = metav1.ConditionFalse, "Spoiled"
	foreign := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "ByHand", LastTransitionTime: metav1.Now()}
	spoiled.Status.Conditions = append(spoiled.Status.Conditions[1:], foreign)
	require.NoError(t, admin(t).Status().Update(t.Context(), spoiled))
	f.reconcile(t)
	f.settle(t)
	got := f.store(t)
	require.Equal(t, foreign.Reason, condition(got, "Audited").Reason, "another writer's condition stays")
	diff := cmpopts.IgnoreFields(v1alpha1.BookStoreStatus{}, "Conditions")
	require.Empty(t, cmp.Diff(want, got.Status, diff))

	// Remove the whole status.
	kubectl(t, "patch", "bookstore", f.name, "-n", f.namespace, "--subresource=status", "--type=merge", "--patch", `{"status":null}`)
	require.Empty(t, f.store(t).Status.Conditions)
	f.reconcile(t)
	f.settle(t)
	require.Empty(t, cmp.Diff(want, f.store(t).Status, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")))
}

func testSteadyState(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	store, mark := f.store(t), shared.Mark()
	for range 10 {
		f.reconcile(t)
	}
	require.Empty(t, f.allRequests(t, mark))
	require.Equal(t, store.Status, f.store(t).Status)
	tests.CheckEvents(t, process, store)
}

// testTwo has one BookStore whose name is the beginning of the other's.
func testTwo(t *testing.T, process *operator.Process) {
	one := newFixture(t, process)
	two := one
	two.name = "shop-mongodb-2"
	two.create(t, func(store *v1alpha1.BookStore) {
		store.Spec.BookDB.Replicas, store.Spec.BookDB.Tag, store.Spec.BookDB.Retain = 1, "8", new(false)
	})
	two.settle(t)
	one.settle(t)
	require.Len(t, one.store(t).Status.Volumes, 2)
	require.Len(t, two.store(t).Status.Volumes, 1)
	require.Equal(t, "mongo:8", two.pod(t, 0).Spec.Containers[0].Image)
	require.Equal(t, "mongo:latest", one.pod(t, 0).Spec.Containers[0].Image)

	uids, mark := one.uids(t), shared.Mark()
	two.delete(t)
	two.waitUntilGone(t, two.name, two.named())
	two.waitUntilGone(t, two.claimName(0), &corev1.PersistentVolumeClaim{})
	one.settle(t)
	require.Equal(t, uids, one.uids(t))
	require.Equal(t, []string{"delete persistentvolumeclaims " + two.claimName(0), "patch bookstores " + two.name}, one.writes(t, mark))
}

func testNoPods(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	uids := f.uids(t)
	f.change(t, `{"bookApp":{"replicas":0},"bookDB":{"replicas":0}}`)
	f.settle(t)
	f.waitUntilGone(t, "shop-mongodb-0", &corev1.Pod{})
	require.Len(t, f.store(t).Status.Volumes, 2, "they wait for the next replicas")
	f.change(t, `{"bookApp":{"replicas":1},"bookDB":{"replicas":2}}`)
	f.settle(t)
	require.Equal(t, uids[f.claimName(0)], f.claim(t, 0).UID)
	require.NotEqual(t, uids["shop-mongodb-0"], f.pod(t, 0).UID)
}

func testDeletedPod(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	old, claim, mark := f.pod(t, 0), f.claim(t, 0).UID, shared.Mark()
	require.NoError(t, admin(t).Delete(t.Context(), old))
	eventually(t, func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := admin(t).Get(ctx, client.ObjectKeyFromObject(old), pod); err != nil {
			return err
		}
		return expect(pod.UID != old.UID, "it is still there")
	})
	f.settle(t)
	require.Equal(t, f.claimName(0), f.pod(t, 0).Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	require.Equal(t, claim, f.claim(t, 0).UID)
	require.Empty(t, f.requests(t, mark), "it is the StatefulSet's to make")
}

// testStrangers has foreign pods with the labels app of the BookStore's pods: they get no traffic. The
// endpoints are up to date once they have all own pods, which are younger.
func testStrangers(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	for _, name := range []string{"shop-mongodb", "shop-app"} {
		tests.CreateStranger(t, f.namespace, "strange-"+name, name)
	}
	f.create(t)
	f.settle(t)
	for _, service := range []string{"shop-mongodb", "shop-app"} {
		eventually(t, func(context.Context) error {
			endpoints := tests.Endpoints(t, f.namespace, service)
			own := slices.DeleteFunc(slices.Clone(endpoints), func(pod string) bool { return !strings.HasPrefix(pod, service+"-") })
			if len(own) != 2 {
				return expect(false, "not yet the endpoints of all pods: %v", endpoints)
			}
			require.Equal(t, own, endpoints)
			return nil
		})
	}
}

// testScale scales the app through the subresource.
func testScale(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	for _, replicas := range []int32{3, 0} {
		kubectl(t, "scale", "bs", f.name, "-n", f.namespace, "--replicas", strconv.Itoa(int(replicas)))
		f.settle(t)
		require.Equal(t, replicas, f.store(t).Spec.BookApp.Replicas)
		tests.CheckScale(t, f.named(), replicas, replicas)
	}
}

func testColumn(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	column := func() string {
		return strings.Fields(kubectl(t, "get", "bs", f.name, "-n", f.namespace, "--no-headers"))[1]
	}
	require.Equal(t, "2", column())
	var pods corev1.PodList
	require.NoError(t, admin(t).List(t.Context(), &pods, client.InNamespace(f.namespace), client.MatchingLabels(selectorOf(f.name, "app"))))
	f.setReady(t, &pods.Items[0], corev1.ConditionFalse)
	eventually(t, func(context.Context) error { return expect(column() == "1", "%s", column()) })
	f.setReady(t, &pods.Items[0], corev1.ConditionTrue)
	f.settle(t)
	require.Equal(t, "2", column())
}

func testLongestName(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: strings.Repeat("a", 44)}
	f.create(t)
	f.settle(t)
	require.Equal(t, f.set(t).Status.CurrentRevision, f.pod(t, 0).Labels[appsv1.ControllerRevisionHashLabelKey])
	require.NotEmpty(t, f.claim(t, 1).Spec.VolumeName)
}

// try asks the API server whether it would accept a BookStore.
func (f fixture) try(t *testing.T, name, spec string) error {
	t.Helper()
	return admin(t).Create(t.Context(), f.raw(t, name, spec), client.DryRunAll)
}

// raw returns a BookStore with a spec that no Go client would write.
func (f fixture) raw(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	raw := &unstructured.Unstructured{}
	require.NoError(t, raw.UnmarshalJSON([]byte(`{"apiVersion":"blog.velotio.com/v1alpha1","kind":"BookStore","spec":`+spec+`}`)))
	raw.SetNamespace(f.namespace)
	raw.SetName(name)
	return raw
}

// testForeign creates objects of other programs under the children's names: the operator leaves
// them alone, and does not ensure the following children until they are gone.
func testForeign(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	theirs := f.createForeign(t, "shop-mongodb")
	f.create(t)
	require.Contains(t, f.waitForReason(t, v1alpha1.DatabaseReadyCondition, "Foreign").Message, "shop-mongodb")
	f.waitForReason(t, v1alpha1.AppReadyCondition, "Foreign")
	require.Contains(t, f.waitForReason(t, v1alpha1.ReadyCondition, "Foreign").Message, "shop-mongodb")
	f.isAbsent(t, "shop-app", &appsv1.Deployment{})

	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
	require.Equal(t, theirs.ResourceVersion, f.service(t, "shop-mongodb").ResourceVersion, "it is left alone")

	f.create(t)
	f.waitForReason(t, v1alpha1.ReadyCondition, "Foreign")
	require.NoError(t, admin(t).Delete(t.Context(), theirs))
	f.reconcile(t)
	f.settle(t)
}

func testValidation(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	longest := strings.Repeat("a", 128)
	repositories := []string{
		`"mongo"`, `"akash125/pyapp"`, `"docker.io/library/mongo"`, `"registry.example.org:5000/a/b-c__d.e"`, `"localhost:1/a"`, `"[::1]:5000/a"`,
		`"` + longest + `"`,
	}
	noRepositories := []string{
		`""`, `"` + longest + longest + `"`, `"Mongo"`, `"a b"`, `"a:tag"`, `"a/"`, `"/a"`, `"a\n"`, `"é"`, `"a@sha256"`, `"a..b/c"`,
		`"a\"b\n---\napiVersion: v1\nkind: ConfigMap # {{.Name}}"`, "1",
	}
	tags := []string{`"latest"`, `"8.0"`, `"_a"`, `"1"`, `"A-.-"`, `"` + longest + `"`}
	noTags := []string{`""`, `"-a"`, `".a"`, `"a b"`, `"a:b"`, `"a/b"`, `"é"`, `"a\n"`, `"` + longest + `a"`, "1"}
	policies, noPolicies := []string{`"Always"`, `"Never"`, `"IfNotPresent"`}, []string{`"Sometimes"`, `""`}
	ports, noPorts := []string{"1", "65535"}, []string{"0", "65536", "-1", `"http"`}
	for _, test := range []struct {
		field            string
		accepted, others []string // others are refused
	}{
		{"bookApp.repository", repositories, noRepositories},
		{"bookApp.tag", tags, noTags},
		{"bookApp.imagePullPolicy", policies, noPolicies},
		{"bookApp.replicas", []string{"0", "1", "1000"}, []string{"-1", "1001", "1.5", `"1"`, "4294967296"}},
		{"bookApp.port", ports, noPorts},
		{"bookApp.targetPort", ports, noPorts},
		{"bookApp.serviceType", []string{`"LoadBalancer"`, `"NodePort"`, `"ClusterIP"`}, []string{`"ExternalName"`, `""`}},
		{"bookDB.repository", repositories, noRepositories},
		{"bookDB.tag", tags, noTags},
		{"bookDB.imagePullPolicy", policies, noPolicies},
		{"bookDB.replicas", []string{"0", "1", "100"}, []string{"-1", "101"}},
		{"bookDB.port", ports, noPorts},
		// A size that cannot be parsed would keep the operator from reading any BookStore.
		{
			"bookDB.dbSize",
			[]string{`"2Gi"`, `"+2Gi"`, `"1.5Gi"`, `"0.5Gi"`, `"1e9"`, `"1E9"`, `"1E"`, `"5M"`, `"1Mi"`, "1048576", `"1048576"`, "4294967296"},
			[]string{
				`"3"`, "3", `"1M"`, "1048575", `"1Ki"`, `"1n"`, `"1e3"`,
				`"0"`, "0", `"0.000Gi"`, `"-0"`, `"-1Gi"`, "-5", `"0e3"`, `"1e1.5"`, `"1e999999999999"`, `"1e-999"`, `"Gi"`, `"2 Gi"`, `"1E1E"`, `""`,
				`"-"`, "1.5", "true", `"` + longest + `"`,
			},
		},
		{"bookDB.storageClassName", []string{`"fast"`, `"a.b-c"`}, []string{`""`, `"Fast"`, `"a_b"`, `"a..b"`, `"` + longest + longest + `"`}},
		{"bookDB.retain", []string{"true", "false"}, []string{`"yes"`}},
		{"bookDB.mongodbService", []string{"true", "false"}, []string{`"no"`}},
		{"bookDB.restartForResize", []string{"true", "false"}, []string{`"yes"`}},
	} {
		part, field, _ := strings.Cut(test.field, ".")
		spec := func(value string) string { return `{"` + part + `":{"` + field + `":` + value + `}}` }
		for _, value := range test.accepted {
			require.NoError(t, f.try(t, "shop", spec(value)), "%s: %s", test.field, value)
		}
		for _, value := range test.others {
			err := f.try(t, "shop", spec(value))
			require.True(t, apierrors.IsInvalid(err), "%s: %s: %v", test.field, value, err)
			require.ErrorContains(t, err, "spec."+test.field)
		}
	}
	require.NoError(t, f.try(t, "shop", `{"bookDB":{"repository":"mongo@sha256","tag":"`+strings.Repeat("a", 64)+`"}}`))
	for spec, says := range map[string]string{ // what to write, and no regular expression
		`{"bookApp":{"repository":"a/b:1"}}`:          "must not contain a tag: use the field tag",
		`{"bookDB":{"repository":"mongo@sha256:aa"}}`: "for a digest after a repository that ends with @sha256",
		`{"bookDB":{"repository":"Mongo"}}`:           "such as mongo or quay.io/team/shop",
		`{"bookApp":{"tag":"a:b"}}`:                   "must be the tag of an image, such as 8.0",
		`{"bookDB":{"dbSize":"big"}}`:                 "must be a quantity such as 2Gi",
		`{"bookDB":{"dbSize":3}}`:                     "must be at least 1Mi: write a unit, as in 3Gi",
		`{"bookDB":{"storageClassName":"Fast"}}`:      "must be the name of a StorageClass",
	} {
		err := f.try(t, "shop", spec)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "should match")
	}
	for _, name := range []string{"a", "a-1", strings.Repeat("a", 44)} {
		require.NoError(t, f.try(t, name, `{}`), name)
	}
	for name, says := range map[string]string{
		"with.dots": "DNS-1035 label", "1st": "DNS-1035 label", strings.Repeat("a", 45): "at most 44 characters",
	} {
		err := f.try(t, name, `{}`)
		require.True(t, apierrors.IsInvalid(err), "%s: %v", name, err)
		require.ErrorContains(t, err, says)
	}
}

// TestOldObjects creates BookStores that a former version of the CRD allowed. The present CRD still allows to
// edit and to delete them, and the operator says what is wrong.
func TestOldObjects(t *testing.T) {
	process, namespace := start(t), shared.Namespace(t)
	f := fixture{operator: process, namespace: namespace, name: strings.Repeat("a", 45)}
	empty := fixture{operator: process, namespace: namespace, name: "empty"}
	const (
		definition = "bookstores.blog.velotio.com"
		schema     = "/spec/versions/0/schema/openAPIV3Schema"
		size       = schema + "/properties/spec/properties/bookDB/properties/dbSize"
		noSize     = `{"bookDB":{"dbSize":"0"}}`
		noUnit     = `{"bookDB":{"dbSize":3},"bookApp":{"serviceType":"ClusterIP"}}`
	)
	crd := filepath.Join(installed(t).Dir, "config", "crd")
	kubectl(t, "patch", "crd", definition, "--type=json", "--patch",
		`[{"op":"remove","path":"`+schema+`/x-kubernetes-validations"},{"op":"remove","path":"`+size+`/x-kubernetes-validations"}]`)
	t.Cleanup(func() { restore(t, crd) })
	eventually(t, func(context.Context) error { return errors.Join(f.try(t, f.name, `{}`), f.try(t, "empty", noSize)) })
	f.create(t)
	require.NoError(t, admin(t).Create(t.Context(), f.raw(t, "empty", noSize)))
	require.NoError(t, admin(t).Create(t.Context(), f.raw(t, "small", noUnit)))
	restore(t, crd)
	eventually(t, func(context.Context) error {
		return expect(apierrors.IsInvalid(f.try(t, f.name+"b", `{}`)) && apierrors.IsInvalid(f.try(t, "other", noSize)), "the rules do not apply yet")
	})

	require.Contains(t, f.waitForReason(t, v1alpha1.ReadyCondition, "InvalidName").Message, "leave room for 44")
	f.change(t, `{"bookApp":{"replicas":3}}`)
	require.Contains(t, f.waitForReason(t, v1alpha1.ReadyCondition, "InvalidName").Message, "leave room for 44")
	f.reconcile(t) // the write that shows the condition has its answer
	mark := shared.Mark()
	f.reconcile(t)
	require.Empty(t, f.allRequests(t, mark), "nothing is tried again and again")
	f.isAbsent(t, f.name+"-mongodb", &corev1.Service{})

	empty.change(t, `{"bookApp":{"replicas":1}}`)
	require.Contains(t, empty.waitForReason(t, v1alpha1.ReadyCondition, "InvalidSize").Message, "spec.bookDB.dbSize is 0")
	empty.isAbsent(t, "empty-mongodb", &corev1.Service{})
	empty.grow(t, "2Gi")
	empty.settle(t)

	small := fixture{operator: process, namespace: namespace, name: "small"}
	small.settle(t)
	small.change(t, `{"bookApp":{"tag":"1"}}`)
	small.settle(t)
	require.Equal(t, "3", asks(small.claim(t, 0)), "it goes on")

	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
}

// restore applies the CRD again, also at the end of the test, when the test's context is done.
func restore(t *testing.T, crd string) {
	t.Helper()
	path, err := cluster.Kubectl(context.Background())
	require.NoError(t, err)
	out, err := exec.CommandContext(context.Background(), path, "--kubeconfig", shared.Kubeconfig(),
		"apply", "--server-side", "--force-conflicts", "-k", crd).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func testOtherFinalizers(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	f.create(t, func(store *v1alpha1.BookStore) { store.Finalizers = []string{"example.org/first"} })
	f.settle(t)
	require.Equal(t, []string{"example.org/first", v1alpha1.Finalizer}, f.store(t).Finalizers)
	f.patch(t, f.named(), `{"metadata":{"finalizers":["`+v1alpha1.Finalizer+`"]}}`)
}

func testFinalizerReturns(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.patch(t, f.named(), `{"metadata":{"finalizers":null}}`)
	eventually(t, func(context.Context) error {
		return expect(slices.Equal(f.store(t).Finalizers, []string{v1alpha1.Finalizer}), "no finalizer")
	})
	f.settle(t)
}
