package predicates_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trueup-go/trueup/predicates"
)

// Each watch has its own predicate. WithEventFilter would apply one predicate to all watches.
func Example() {
	setup := func(mgr ctrl.Manager, r reconcile.Reconciler) error {
		return ctrl.NewControllerManagedBy(mgr).
			Named("settings").
			For(&corev1.ConfigMap{}, builder.WithPredicates(predicates.Primary())).
			Owns(&appsv1.Deployment{}, builder.WithPredicates(predicates.Owned())).
			Complete(r)
	}

	mgr, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(setup(mgr, reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	})))
	// Output: <nil>
}

// wakes says whether an update wakes a reconciler that listens through p.
func wakes(p predicate.Predicate, older, newer client.Object) bool {
	return p.Update(event.UpdateEvent{ObjectOld: older, ObjectNew: newer})
}

func ExamplePrimary() {
	settings := &corev1.ConfigMap{Data: map[string]string{"color": "red"}}
	edited := settings.DeepCopy()
	edited.Data["color"] = "blue" // generation is 0, as before
	fmt.Println("a ConfigMap's data:", wakes(predicates.Primary(), settings, edited))
	fmt.Println("the same, by generation:", wakes(predicate.GenerationChangedPredicate{}, settings, edited))

	claim := &corev1.PersistentVolumeClaim{}
	bound := claim.DeepCopy()
	bound.Status.Phase = corev1.ClaimBound
	fmt.Println("a claim's status:", wakes(predicates.Primary(), claim, bound))

	// Output:
	// a ConfigMap's data: true
	// the same, by generation: false
	// a claim's status: false
}

func ExampleOwned() {
	claim := &corev1.PersistentVolumeClaim{}
	resizing := claim.DeepCopy()
	resizing.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing}}
	fmt.Println("a condition:", wakes(predicates.Owned(), claim, resizing))

	probed := resizing.DeepCopy()
	probed.Status.Conditions[0].LastProbeTime = metav1.Now()
	fmt.Println("a heartbeat:", wakes(predicates.Owned(), resizing, probed))

	// Output:
	// a condition: true
	// a heartbeat: false
}

func ExampleSpecChanged() {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	annotated := deployment.DeepCopy()
	annotated.Generation = 2 // a Deployment's does move with its annotations
	annotated.Annotations = map[string]string{"note": "by hand"}
	scaled := annotated.DeepCopy()
	scaled.Generation = 3
	scaled.Spec.Replicas = new(int32(3))

	fmt.Println("annotation:", wakes(predicates.SpecChanged(), deployment, annotated))
	fmt.Println("replicas:", wakes(predicates.SpecChanged(), annotated, scaled))
	// Output:
	// annotation: false
	// replicas: true
}

func ExampleLabelChanged() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"role": "primary", "note": "a"}}}
	noted, demoted := pod.DeepCopy(), pod.DeepCopy()
	noted.Labels["note"] = "b"
	demoted.Labels["role"] = "replica"

	fmt.Println("note:", wakes(predicates.LabelChanged("role"), pod, noted))
	fmt.Println("role:", wakes(predicates.LabelChanged("role"), pod, demoted))
	// Output:
	// note: false
	// role: true
}

// A controller watches one annotation of a kind that it does not own.
func ExampleAnnotationChanged() {
	restart := predicate.Or(predicates.AnnotationChanged("shop.example.com/restart"), predicates.DeletionRequested())

	service := &corev1.Service{}
	marked := service.DeepCopy()
	marked.Annotations = map[string]string{"shop.example.com/restart": "1"}
	selecting := service.DeepCopy()
	selecting.Spec.Selector = map[string]string{"app": "web"}

	fmt.Println("annotation:", wakes(restart, service, marked))
	fmt.Println("spec:", wakes(restart, service, selecting))
	// Output:
	// annotation: true
	// spec: false
}

func ExampleFinalizersChanged() {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"kubernetes.io/pvc-protection"}}}
	free := claim.DeepCopy()
	free.Finalizers = nil

	fmt.Println(wakes(predicates.FinalizersChanged(), claim, free))
	// Output: true
}

func ExampleConditionChanged() {
	node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
	}}}
	lost, pressed := node.DeepCopy(), node.DeepCopy()
	lost.Status.Conditions[0].Status = corev1.ConditionUnknown
	pressed.Status.Conditions[1].Status = corev1.ConditionTrue

	fmt.Println("Ready:", wakes(predicates.ConditionChanged("Ready"), node, lost))
	fmt.Println("DiskPressure:", wakes(predicates.ConditionChanged("Ready"), node, pressed))
	// Output:
	// Ready: true
	// DiskPressure: false
}

func ExampleDeletionRequested() {
	volume := &corev1.PersistentVolume{}
	going := volume.DeepCopy()
	going.DeletionTimestamp = new(metav1.Now())

	p := predicates.DeletionRequested()
	fmt.Println("created:", p.Create(event.CreateEvent{Object: volume}))
	fmt.Println("there when the controller starts, but going:", p.Create(event.CreateEvent{Object: going}))
	fmt.Println("deletion requested:", wakes(p, volume, going))
	fmt.Println("gone:", p.Delete(event.DeleteEvent{Object: going}))
	// Output:
	// created: false
	// there when the controller starts, but going: true
	// deletion requested: true
	// gone: true
}

func ExamplePaused() {
	listening := predicate.And(predicates.Primary(), predicate.Not(predicates.Paused("shop.example.com/paused")))

	shop := &corev1.ConfigMap{}
	paused := shop.DeepCopy()
	paused.Annotations = map[string]string{"shop.example.com/paused": "true"}
	edited := paused.DeepCopy()
	edited.Data = map[string]string{"color": "blue"}
	released := edited.DeepCopy()
	released.Annotations = nil

	fmt.Println("pause:", wakes(listening, shop, paused))
	fmt.Println("edit:", wakes(listening, paused, edited))
	fmt.Println("release:", wakes(listening, edited, released))
	// Output:
	// pause: false
	// edit: false
	// release: true
}

func ExampleResync() {
	shop := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}

	fmt.Println(wakes(predicates.Primary(), shop, shop))
	fmt.Println(wakes(predicate.Or(predicates.Primary(), predicates.Resync()), shop, shop))
	// Output:
	// false
	// true
}

// A source of one Go type takes the typed form of a predicate.
func ExampleTypedOwned() {
	watch := func(c cache.Cache) source.Source {
		return source.Kind(c, &corev1.Pod{}, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{},
			predicates.TypedOwned[*corev1.Pod]())
	}
	_ = watch

	running := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	fmt.Println(predicates.TypedOwned[*corev1.Pod]().Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: running}))
	// Output: true
}

// podUpdate is an event for a predicate of the Go type *corev1.Pod.
type podUpdate = event.TypedUpdateEvent[*corev1.Pod]

// podWith returns a pod whose metadata is meta.
func podWith(meta metav1.ObjectMeta) *corev1.Pod { return &corev1.Pod{ObjectMeta: meta} }

// A status does not pass.
func ExampleTypedPrimary() {
	p := predicates.TypedPrimary[*corev1.Pod]()
	running := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	labelled := podWith(metav1.ObjectMeta{Labels: map[string]string{"role": "primary"}})

	fmt.Println("status:", p.Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: running}))
	fmt.Println("label:", p.Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: labelled}))
	// Output:
	// status: false
	// label: true
}

// Labels and annotations do not pass.
func ExampleTypedSpecChanged() {
	p := predicates.TypedSpecChanged[*corev1.Pod]()
	labelled := podWith(metav1.ObjectMeta{Labels: map[string]string{"role": "primary"}})
	scheduled := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}}

	fmt.Println("label:", p.Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: labelled}))
	fmt.Println("spec:", p.Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: scheduled}))
	// Output:
	// label: false
	// spec: true
}

func ExampleTypedLabelChanged() {
	p := predicates.TypedLabelChanged[*corev1.Pod]("role")
	primary := podWith(metav1.ObjectMeta{Labels: map[string]string{"role": "primary"}})

	fmt.Println(p.Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: primary}))
	fmt.Println(p.Update(podUpdate{ObjectOld: primary, ObjectNew: primary}))
	// Output:
	// true
	// false
}

func ExampleTypedAnnotationChanged() {
	p := predicates.TypedAnnotationChanged[*corev1.Pod]("example.com/restart")
	marked := podWith(metav1.ObjectMeta{Annotations: map[string]string{"example.com/restart": "1"}})
	noted := podWith(metav1.ObjectMeta{Annotations: map[string]string{"note": "by hand"}})

	fmt.Println(p.Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: marked}))
	fmt.Println(p.Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: noted}))
	// Output:
	// true
	// false
}

func ExampleTypedFinalizersChanged() {
	p := predicates.TypedFinalizersChanged[*corev1.Pod]()
	kept := podWith(metav1.ObjectMeta{Finalizers: []string{"example.com/drain"}})

	fmt.Println(p.Update(podUpdate{ObjectOld: kept, ObjectNew: &corev1.Pod{}}))
	// Output: true
}

func ExampleTypedConditionChanged() {
	p := predicates.TypedConditionChanged[*corev1.Pod]("Ready")
	ready := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}}}

	fmt.Println(p.Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: ready}))
	// Output: true
}

func ExampleTypedDeletionRequested() {
	p := predicates.TypedDeletionRequested[*corev1.Pod]()
	terminating := podWith(metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())})

	fmt.Println(p.Update(podUpdate{ObjectOld: &corev1.Pod{}, ObjectNew: terminating}))
	// Output: true
}

// No event of a paused pod passes.
func ExampleTypedPaused() {
	p := predicate.Not(predicates.TypedPaused[*corev1.Pod]("example.com/paused"))
	paused := podWith(metav1.ObjectMeta{Annotations: map[string]string{"example.com/paused": "true"}})

	fmt.Println(p.Create(event.TypedCreateEvent[*corev1.Pod]{Object: &corev1.Pod{}}))
	fmt.Println(p.Create(event.TypedCreateEvent[*corev1.Pod]{Object: paused}))
	// Output:
	// true
	// false
}

// A resync sends the object that the cache has.
func ExampleTypedResync() {
	p := predicates.TypedResync[*corev1.Pod]()
	first, second := podWith(metav1.ObjectMeta{ResourceVersion: "7"}), podWith(metav1.ObjectMeta{ResourceVersion: "8"})

	fmt.Println(p.Update(podUpdate{ObjectOld: first, ObjectNew: first}))
	fmt.Println(p.Update(podUpdate{ObjectOld: first, ObjectNew: second}))
	// Output:
	// true
	// false
}
