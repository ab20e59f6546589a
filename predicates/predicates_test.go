package predicates_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/trueup-go/trueup/predicates"
)

// all are the predicates, by the names that the tables below use. The two of a
// label and an annotation look for "listened"; "plain" is another key.
func all() map[string]predicate.Predicate {
	return map[string]predicate.Predicate{
		"Primary":           predicates.Primary(),
		"Owned":             predicates.Owned(),
		"Spec":              predicates.SpecChanged(),
		"Label":             predicates.LabelChanged("listened"),
		"AnyLabel":          predicates.LabelChanged(),
		"Annotation":        predicates.AnnotationChanged("missing", "listened"),
		"AnyAnnotation":     predicates.AnnotationChanged(),
		"Finalizers":        predicates.FinalizersChanged(),
		"Condition":         predicates.ConditionChanged("Ready"),
		"DeletionRequested": predicates.DeletionRequested(),
		"Paused":            predicates.Paused("paused"),
		"Resync":            predicates.Resync(),
	}
}

// passing are the names of the predicates that pass, in order.
func passing(passes func(predicate.Predicate) bool) string {
	var names []string
	for name, p := range all() {
		if passes(p) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func sorted(names string) string {
	fields := strings.Fields(names)
	slices.Sort(fields)
	return strings.Join(fields, " ")
}

var epoch = metav1.Unix(1_700_000_000, 0)

func later(d time.Duration) metav1.Time { return metav1.NewTime(epoch.Add(d)) }

func meta(generation int64) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "10", Generation: generation,
		Labels: map[string]string{"listened": "a", "plain": "a"}, Annotations: map[string]string{"listened": "a", "plain": "a"},
		Finalizers:      []string{"example.com/a"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "o", Controller: new(true)}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "a"}},
	}
}

func deployment() *appsv1.Deployment {
	condition := func(name appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{Type: name, Status: corev1.ConditionTrue, LastUpdateTime: epoch, LastTransitionTime: epoch}
	}
	return &appsv1.Deployment{
		ObjectMeta: meta(1),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "web", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}},
			}}}},
		},
		Status: appsv1.DeploymentStatus{
			Replicas: 1, Conditions: []appsv1.DeploymentCondition{condition("Ready"), condition("Progressing")},
		},
	}
}

func configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(0), Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": {1}}}
}

func node() *corev1.Node {
	return &corev1.Node{ObjectMeta: meta(0), Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True", LastHeartbeatTime: epoch, LastTransitionTime: epoch}},
	}}
}

func lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: meta(0), Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("a"), RenewTime: &metav1.MicroTime{Time: epoch.Time}, AcquireTime: &metav1.MicroTime{Time: epoch.Time},
	}}
}

func networkPolicy() *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: meta(1)}
}

// An update is what a watch brings after one change: unless the change says
// otherwise, another resourceVersion.
type update struct {
	name   string
	old    client.Object
	change func(client.Object)
	passes string
}

func changed[T client.Object](name string, old T, change func(T), passes string) update {
	return update{name: name, old: old, change: func(obj client.Object) { change(obj.(T)) }, passes: passes}
}

func metadataUpdates(kind string, obj func() client.Object) []update {
	on := func(name, passes string, change func(client.Object)) update {
		return update{name: kind + ", " + name, old: obj(), change: change, passes: passes}
	}
	return []update{
		on("label listened to", "Primary Owned Label AnyLabel", func(o client.Object) { o.GetLabels()["listened"] = "b" }),
		on("another label", "Primary Owned AnyLabel", func(o client.Object) { o.GetLabels()["plain"] = "b" }),
		on("label emptied", "Primary Owned Label AnyLabel", func(o client.Object) { o.GetLabels()["listened"] = "" }),
		on("label removed", "Primary Owned Label AnyLabel", func(o client.Object) { delete(o.GetLabels(), "listened") }),
		on("annotation listened to", "Primary Owned Annotation AnyAnnotation", func(o client.Object) { o.GetAnnotations()["listened"] = "b" }),
		on("another annotation", "Primary Owned AnyAnnotation", func(o client.Object) { o.GetAnnotations()["plain"] = "b" }),
		on("paused", "Primary Owned AnyAnnotation Paused", func(o client.Object) { o.GetAnnotations()["paused"] = "" }),
		on("paused by a word", "Primary Owned AnyAnnotation Paused", func(o client.Object) { o.GetAnnotations()["paused"] = "yes" }),
		on("not paused", "Primary Owned AnyAnnotation", func(o client.Object) { o.GetAnnotations()["paused"] = "false" }),
		on("finalizer added", "Primary Owned Finalizers", func(o client.Object) { o.SetFinalizers([]string{"example.com/a", "example.com/b"}) }),
		on("finalizers removed", "Primary Owned Finalizers", func(o client.Object) { o.SetFinalizers(nil) }),
		on("owner removed", "Primary Owned", func(o client.Object) { o.SetOwnerReferences(nil) }),
		on("owner no controller", "Primary Owned", func(o client.Object) {
			owners := slices.Clone(o.GetOwnerReferences())
			owners[0].Controller = new(false)
			o.SetOwnerReferences(owners)
		}),
		on("deletion", "Primary Owned DeletionRequested", func(o client.Object) { o.SetDeletionTimestamp(&epoch) }),
		on("managedFields", "", func(o client.Object) { o.SetManagedFields(nil) }),
		on("resourceVersion", "", func(client.Object) {}),
		on("resync", "Resync", func(o client.Object) { o.SetResourceVersion("10") }),
		on("replaced", "Primary Owned Spec Label AnyLabel Annotation AnyAnnotation Finalizers Condition DeletionRequested",
			func(o client.Object) { o.SetUID("2") }),
	}
}

func contentUpdates() []update {
	return []update{
		changed("spec", deployment(), func(d *appsv1.Deployment) { d.Generation, d.Spec.Replicas = 2, new(int32(2)) }, "Primary Owned Spec"),
		changed("field removed", deployment(), func(d *appsv1.Deployment) { d.Generation, d.Spec.Replicas = 2, nil }, "Primary Owned Spec"),
		changed("list grown", deployment(), func(d *appsv1.Deployment) {
			d.Generation, d.Spec.Template.Spec.Containers = 2, append(d.Spec.Template.Spec.Containers, corev1.Container{})
		}, "Primary Owned Spec"),
		changed("quantity", deployment(), func(d *appsv1.Deployment) {
			d.Generation, d.Spec.Template.Spec.Containers[0].Resources.Limits["cpu"] = 2, resource.MustParse("2")
		}, "Primary Owned Spec"),
		changed("spec, though the generation stays (PriorityClass)", deployment(),
			func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) }, "Primary Owned Spec"),
		changed("spec and status", deployment(), func(d *appsv1.Deployment) {
			d.Generation, d.Spec.Replicas, d.Status.Replicas = 2, new(int32(2)), 2
		}, "Primary Owned Spec"),
		changed("annotation that moves the generation", deployment(), func(d *appsv1.Deployment) {
			d.Generation, d.Annotations["plain"] = 2, "b"
		}, "Primary Owned AnyAnnotation"),
		changed("status that moves the generation", deployment(), func(d *appsv1.Deployment) { d.Generation, d.Status.Replicas = 2, 2 }, "Owned"),
		changed("heartbeat that moves the generation", deployment(), func(d *appsv1.Deployment) {
			d.Generation, d.Status.Conditions[0].LastUpdateTime = 2, later(time.Minute)
		}, ""),
		changed("generation alone: something unseen", deployment(), func(d *appsv1.Deployment) { d.Generation = 2 }, "Primary Owned Spec"),
		changed("status", deployment(), func(d *appsv1.Deployment) { d.Status.Replicas = 2 }, "Owned"),
		changed("condition", deployment(), func(d *appsv1.Deployment) { d.Status.Conditions[0].Status = "False" }, "Owned Condition"),
		changed("condition's message", deployment(), func(d *appsv1.Deployment) { d.Status.Conditions[0].Message = "m" }, "Owned Condition"),
		changed("condition's transition", deployment(), func(d *appsv1.Deployment) {
			d.Status.Conditions[0].LastTransitionTime = later(time.Hour)
		}, "Owned Condition"),
		changed("another condition", deployment(), func(d *appsv1.Deployment) { d.Status.Conditions[1].Reason = "r" }, "Owned"),
		changed("conditions reordered", deployment(), func(d *appsv1.Deployment) { slices.Reverse(d.Status.Conditions) }, "Owned"),
		changed("condition gone", deployment(), func(d *appsv1.Deployment) { d.Status.Conditions = d.Status.Conditions[1:] }, "Owned Condition"),
		changed("conditions gone", deployment(), func(d *appsv1.Deployment) { d.Status.Conditions = nil }, "Owned Condition"),
		changed("heartbeat of a deployment", deployment(), func(d *appsv1.Deployment) {
			d.Status.Conditions[0].LastUpdateTime = later(time.Minute)
		}, ""),
		changed("heartbeat of a node", node(), func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = later(time.Minute) }, ""),
		changed("heartbeat and more", node(), func(n *corev1.Node) {
			n.Status.Conditions[0].LastHeartbeatTime, n.Status.Conditions[0].Status = later(time.Minute), "Unknown"
		}, "Owned Condition"),
		changed("heartbeat of a lease", lease(), func(l *coordinationv1.Lease) {
			l.Spec.RenewTime = &metav1.MicroTime{Time: epoch.Add(time.Minute)}
		}, "Primary Spec"),
		changed("lease acquired", lease(), func(l *coordinationv1.Lease) {
			l.Spec.AcquireTime = &metav1.MicroTime{Time: epoch.Add(time.Minute)}
		}, "Primary Owned Spec"),
		changed("lease taken", lease(), func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("b") }, "Primary Owned Spec"),
		changed("node's spec", node(), func(n *corev1.Node) { n.Spec.Unschedulable = true }, "Primary Owned Spec"),
		changed("data", configMap(), func(c *corev1.ConfigMap) { c.Data["a"] = "2" }, "Primary Owned Spec"),
		changed("data grown", configMap(), func(c *corev1.ConfigMap) { c.Data["b"] = "" }, "Primary Owned Spec"),
		changed("a key for another", configMap(), func(c *corev1.ConfigMap) { c.Data = map[string]string{"b": "1"} }, "Primary Owned Spec"),
		changed("data gone", configMap(), func(c *corev1.ConfigMap) { c.Data = nil }, "Primary Owned Spec"),
		changed("bytes", configMap(), func(c *corev1.ConfigMap) { c.BinaryData["b"] = []byte{2} }, "Primary Owned Spec"),
		changed("immutable", configMap(), func(c *corev1.ConfigMap) { c.Immutable = new(true) }, "Primary Owned Spec"),
	}
}

func updates() []update {
	return slices.Concat(
		metadataUpdates("Deployment", func() client.Object { return deployment() }),
		metadataUpdates("ConfigMap", func() client.Object { return configMap() }),
		contentUpdates(),
	)
}

func (u update) objects() (older, newer client.Object) {
	newer = u.old.DeepCopyObject().(client.Object)
	newer.SetResourceVersion("11")
	u.change(newer)
	return u.old, newer
}

func passingUpdates(older, newer client.Object) string {
	return passing(func(p predicate.Predicate) bool {
		return p.Update(event.UpdateEvent{ObjectOld: older, ObjectNew: newer})
	})
}

func TestUpdates(t *testing.T) {
	for _, u := range updates() {
		t.Run(u.name, func(t *testing.T) {
			older, newer := u.objects()
			was, is := older.DeepCopyObject(), newer.DeepCopyObject()

			require.Equal(t, sorted(u.passes), passingUpdates(older, newer))
			require.Empty(t, cmp.Diff([]runtime.Object{was, is}, []runtime.Object{older, newer}), "a predicate changes nothing")
		})
	}
}

// A change of content is seen by itself: no generation has to move for it.
func TestContentWithoutAGeneration(t *testing.T) {
	for _, u := range contentUpdates() {
		t.Run(u.name, func(t *testing.T) {
			older, newer := u.objects()
			newer.SetGeneration(older.GetGeneration())
			want := u.passes
			if strings.HasPrefix(u.name, "generation alone") {
				want = ""
			}
			require.Equal(t, sorted(want), passingUpdates(older, newer))
		})
	}
}

func TestDeletionIsRequestedOnce(t *testing.T) {
	older := deployment()
	older.DeletionTimestamp = &epoch
	newer := older.DeepCopy()
	newer.ResourceVersion, newer.Finalizers = "11", nil
	require.Equal(t, "Finalizers Owned Primary", passingUpdates(older, newer))
}

// Deployment has lost its type, as typed objects do on the wire; unstructured
// objects always have theirs.
func unstructuredOf(t *testing.T, obj client.Object) *unstructured.Unstructured {
	t.Helper()
	gvk, err := apiutil.GVKForObject(obj, clientgoscheme.Scheme)
	require.NoError(t, err)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	return u
}

func TestUnstructuredUpdatesAreLikeTypedOnes(t *testing.T) {
	for _, u := range updates() {
		t.Run(u.name, func(t *testing.T) {
			older, newer := u.objects()

			require.Equal(t, sorted(u.passes), passingUpdates(unstructuredOf(t, older), unstructuredOf(t, newer)))
		})
	}
}

func TestTypedFormsAreLikeTheOthers(t *testing.T) {
	typed := map[string]predicate.TypedPredicate[*appsv1.Deployment]{
		"Primary":           predicates.TypedPrimary[*appsv1.Deployment](),
		"Owned":             predicates.TypedOwned[*appsv1.Deployment](),
		"Spec":              predicates.TypedSpecChanged[*appsv1.Deployment](),
		"Label":             predicates.TypedLabelChanged[*appsv1.Deployment]("listened"),
		"AnyLabel":          predicates.TypedLabelChanged[*appsv1.Deployment](),
		"Annotation":        predicates.TypedAnnotationChanged[*appsv1.Deployment]("missing", "listened"),
		"AnyAnnotation":     predicates.TypedAnnotationChanged[*appsv1.Deployment](),
		"Finalizers":        predicates.TypedFinalizersChanged[*appsv1.Deployment](),
		"Condition":         predicates.TypedConditionChanged[*appsv1.Deployment]("Ready"),
		"DeletionRequested": predicates.TypedDeletionRequested[*appsv1.Deployment](),
		"Paused":            predicates.TypedPaused[*appsv1.Deployment]("paused"),
		"Resync":            predicates.TypedResync[*appsv1.Deployment](),
	}
	require.Len(t, typed, len(all()))
	for _, u := range updates() {
		older, newer := u.objects()
		from, isDeployment := older.(*appsv1.Deployment)
		if !isDeployment {
			continue
		}
		for name, p := range typed {
			passes := p.Update(event.TypedUpdateEvent[*appsv1.Deployment]{ObjectOld: from, ObjectNew: newer.(*appsv1.Deployment)})
			require.Equal(t, slices.Contains(strings.Fields(u.passes), name), passes, "%s on %s", name, u.name)
		}
	}
	for name, p := range typed {
		none := event.TypedUpdateEvent[*appsv1.Deployment]{}
		require.False(t, p.Update(none), name)
		require.False(t, p.Create(event.TypedCreateEvent[*appsv1.Deployment]{}), name)
	}
}

func TestOtherEvents(t *testing.T) {
	const changes = "Primary Owned Spec Label AnyLabel Annotation AnyAnnotation Finalizers Condition "
	staying, going, paused := deployment(), deployment(), deployment()
	going.DeletionTimestamp = &epoch
	paused.Annotations["paused"] = "true"

	cases := []struct {
		name            string
		obj             client.Object
		create, generic string
		deleted         string
	}{
		{"an object", staying, changes, changes, changes + "DeletionRequested"},
		{"one that goes", going, changes + "DeletionRequested", changes + "DeletionRequested", changes + "DeletionRequested"},
		{"one that is paused", paused, changes + "Paused", changes + "Paused", changes + "DeletionRequested"},
		{"metadata only", metadataOf(staying), changes, changes, changes + "DeletionRequested"},
		{"no object", nil, "", "", ""},
		{"a nil pointer", (*appsv1.Deployment)(nil), "", "", ""},
		{"an embedded nil pointer", embedding{}, "", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, sorted(c.create), passing(func(p predicate.Predicate) bool {
				return p.Create(event.CreateEvent{Object: c.obj})
			}))
			require.Equal(t, sorted(c.generic), passing(func(p predicate.Predicate) bool {
				return p.Generic(event.GenericEvent{Object: c.obj})
			}))
			for _, missed := range []bool{false, true} {
				require.Equal(t, sorted(c.deleted), passing(func(p predicate.Predicate) bool {
					return p.Delete(event.DeleteEvent{Object: c.obj, DeleteStateUnknown: missed})
				}))
			}
		})
	}
}

func TestUpdatesWithoutAnObject(t *testing.T) {
	const changes = "Primary Owned Spec Label AnyLabel Annotation AnyAnnotation Finalizers Condition "
	going := deployment()
	going.DeletionTimestamp = &epoch
	for _, missing := range []client.Object{nil, (*appsv1.Deployment)(nil), embedding{}} {
		require.Empty(t, passingUpdates(deployment(), missing))
		require.Empty(t, passingUpdates(missing, missing))
		require.Equal(t, sorted(changes), passingUpdates(missing, deployment()), "like a Create")
		require.Equal(t, sorted(changes+"DeletionRequested"), passingUpdates(missing, going), "like a Create")
	}
}

func metadataOf(obj client.Object) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetUID(obj.GetUID())
	m.SetResourceVersion(obj.GetResourceVersion())
	m.SetGeneration(obj.GetGeneration())
	m.SetLabels(obj.GetLabels())
	return m
}

// What metadata does not show may have changed.
func TestMetadataOnlyUpdates(t *testing.T) {
	labelled := deployment()
	labelled.ResourceVersion, labelled.Labels["listened"] = "11", "b"
	cases := []struct {
		name                           string
		generation, movesTo            int64
		resourceVersion, label, passes string
	}{
		{"generation moved", 1, 2, "11", "", "Primary Owned Spec Condition"},
		{"generation stayed", 1, 1, "11", "", "Owned Condition"},
		{"no generation", 0, 0, "11", "", "Primary Owned Spec Condition"},
		{"label", 1, 1, "11", "b", "Primary Owned Label AnyLabel Condition"},
		{"resync", 1, 1, "10", "", "Resync"},
		{"resync without a generation", 0, 0, "10", "", "Resync"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			older := metadataOf(&corev1.ConfigMap{ObjectMeta: meta(c.generation)})
			newer := older.DeepCopy()
			newer.Generation, newer.ResourceVersion = c.movesTo, c.resourceVersion
			if c.label != "" {
				newer.Labels["listened"] = c.label
			}

			require.Equal(t, sorted(c.passes), passingUpdates(older, newer))
		})
	}
}

func TestForms(t *testing.T) {
	rewritten := deployment()
	rewritten.ResourceVersion = "11"
	rewritten.Spec.Template.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("1000m")
	utc := metav1.NewTime(epoch.UTC())
	rewritten.Status.Conditions[0].LastTransitionTime = utc
	require.Empty(t, passingUpdates(deployment(), rewritten), "quantities and times have several forms")

	closing := networkPolicy()
	closing.ResourceVersion, closing.Spec.Ingress = "11", []networkingv1.NetworkPolicyIngressRule{}
	require.Equal(t, "Owned Primary Spec", passingUpdates(networkPolicy(), closing), "an empty list is not none")
	opened := networkPolicy()
	opened.ResourceVersion, opened.Spec.Ingress = "12", []networkingv1.NetworkPolicyIngressRule{{}}
	require.Equal(t, "Owned Primary Spec", passingUpdates(networkPolicy(), opened))
	require.Equal(t, "Owned Primary Spec", passingUpdates(closing, opened), "the list grows")
	require.Equal(t, "Owned Primary Spec", passingUpdates(opened, closing), "the list shrinks")

	none, empty := &corev1.ConfigMap{ObjectMeta: meta(0)}, &corev1.ConfigMap{ObjectMeta: meta(0), Data: map[string]string{}}
	empty.ResourceVersion = "11"
	require.Equal(t, "Owned Primary Spec", passingUpdates(none, empty), "nor is an empty map")

	require.Contains(t, passingUpdates(deployment(), configMap()), "Owned Primary", "objects of two kinds differ")
}

// oddity is a custom kind as Go allows it.
type oddity struct {
	oddBase
	*oddExtra

	Content oddContent
	Status  *oddStatus `json:"status,omitempty"`
}

type oddBase struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

type oddExtra struct {
	Extra string `json:"extra"`
}

type oddContent struct {
	Since  time.Time
	Any    any
	Array  [2]int
	Func   func()
	hidden struct {
		quantity resource.Quantity
		names    map[string]string
	}
}

type oddStatus struct {
	Conditions []*oddCondition `json:"conditions"`
}

type oddCondition struct {
	Type          *string     `json:"type"`
	State         string      `json:"state"`
	LastProbeTime metav1.Time `json:"lastProbeTime"`
}

func (o *oddity) DeepCopyObject() runtime.Object { return odd() }

func odd() *oddity {
	o := &oddity{oddBase: oddBase{ObjectMeta: meta(0)}}
	o.Content.Since = epoch.Time
	o.Content.hidden.quantity = resource.MustParse("1")
	o.Content.hidden.names = map[string]string{"a": "b"}
	o.Status = &oddStatus{Conditions: []*oddCondition{{Type: new("Ready"), LastProbeTime: epoch}}}
	return o
}

func TestKindsOfAnyShape(t *testing.T) {
	for _, u := range []update{
		changed("nothing", odd(), func(*oddity) {}, ""),
		changed("time in another zone", odd(), func(o *oddity) { o.Content.Since = epoch.UTC() }, ""),
		changed("time", odd(), func(o *oddity) { o.Content.Since = epoch.Add(1) }, "Primary Owned Spec"),
		changed("embedded pointer", odd(), func(o *oddity) { o.oddExtra = &oddExtra{} }, "Primary Owned Spec"),
		changed("interface", odd(), func(o *oddity) { o.Content.Any = 1 }, "Primary Owned Spec"),
		changed("array", odd(), func(o *oddity) { o.Content.Array[1] = 1 }, "Primary Owned Spec"),
		changed("function", odd(), func(o *oddity) { o.Content.Func = func() {} }, "Primary Owned Spec"),
		changed("unexported", odd(), func(o *oddity) { o.Content.hidden.quantity = resource.MustParse("2") }, "Primary Owned Spec"),
		changed("unexported map", odd(), func(o *oddity) { o.Content.hidden.names["a"] = "c" }, "Primary Owned Spec"),
		changed("condition", odd(), func(o *oddity) { o.Status.Conditions[0].State = "odd" }, "Owned Condition"),
		changed("condition without a type", odd(), func(o *oddity) { o.Status.Conditions[0].Type = nil }, "Owned Condition"),
		changed("heartbeat", odd(), func(o *oddity) { o.Status.Conditions[0].LastProbeTime = later(time.Minute) }, ""),
		changed("no status", odd(), func(o *oddity) { o.Status = nil }, "Owned Condition"),
	} {
		t.Run(u.name, func(t *testing.T) {
			older, newer := u.objects()
			require.Equal(t, sorted(u.passes), passingUpdates(older, newer))
		})
	}
}

func gadget(status any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget", "spec": map[string]any{"renewTime": "a", "null": nil},
	}}
	if status != nil {
		u.Object["status"] = status
	}
	u.SetResourceVersion("10")
	return u
}

func TestUnstructuredContentOfAnyShape(t *testing.T) {
	conditions := func(elements ...any) map[string]any { return map[string]any{"conditions": elements} }
	ready := map[string]any{"type": "Ready", "lastProbeTime": "a"}
	probed := map[string]any{"type": "Ready", "lastProbeTime": "b"}
	unprobed := map[string]any{"type": "Ready"}
	renewed := gadget(nil)
	require.NoError(t, unstructured.SetNestedField(renewed.Object, "b", "spec", "renewTime"))
	reshaped := gadget(nil)
	require.NoError(t, unstructured.SetNestedMap(reshaped.Object, map[string]any{"of": "another form"}, "spec", "renewTime"))
	unset := gadget(nil)
	unstructured.RemoveNestedField(unset.Object, "spec", "null")

	cases := []struct {
		name         string
		older, newer *unstructured.Unstructured
		passes       string
	}{
		{"renewTime of a custom kind is its spec", gadget(nil), renewed, "Primary Owned Spec"},
		{"a member takes another form", gadget(nil), reshaped, "Primary Owned Spec"},
		{"null is not absent", gadget(nil), unset, "Primary Owned Spec"},
		{"status appears", gadget(nil), gadget(conditions(ready)), "Owned Condition"},
		{"status goes", gadget(conditions(ready)), gadget(nil), "Owned Condition"},
		{"heartbeat", gadget(conditions(ready)), gadget(conditions(probed)), ""},
		{"heartbeat begins", gadget(conditions(unprobed)), gadget(conditions(ready)), ""},
		{"heartbeat ends", gadget(conditions(ready)), gadget(conditions(unprobed)), ""},
		{"conditions that are none", gadget(conditions("a", 1.5)), gadget(conditions("b", 1.5)), "Owned"},
		{"conditions that are no list", gadget(map[string]any{"conditions": "a"}), gadget(map[string]any{"conditions": "b"}), "Owned"},
		{"status that is no object", gadget("a"), gadget("b"), "Owned"},
		{"status of another form", gadget("a"), gadget(conditions(ready)), "Owned Condition"},
		{"no content", &unstructured.Unstructured{}, &unstructured.Unstructured{}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.newer.SetResourceVersion("11")
			require.Equal(t, sorted(c.passes), passingUpdates(c.older, c.newer))
			c.older.SetResourceVersion("12")
			require.Equal(t, sorted(c.passes), passingUpdates(c.newer, c.older), "and back")
		})
	}
}

func TestComposition(t *testing.T) {
	listening := predicate.And(
		predicate.Or(predicates.Primary(), predicates.Resync()),
		predicate.Not(predicates.Paused("paused")),
	)
	plain, paused := deployment(), deployment()
	paused.Annotations["paused"] = "true"
	updates := func(older, newer client.Object) bool {
		return listening.Update(event.UpdateEvent{ObjectOld: older, ObjectNew: newer})
	}

	require.True(t, listening.Create(event.CreateEvent{Object: plain}))
	require.False(t, listening.Create(event.CreateEvent{Object: paused}))
	require.True(t, listening.Delete(event.DeleteEvent{Object: paused}), "what is gone is not paused")
	require.True(t, updates(plain, plain), "a resync")
	require.False(t, updates(plain, paused))
	require.False(t, updates(paused, paused))
	require.True(t, updates(paused, plain), "the pause ends")
}

func BenchmarkUpdate(b *testing.B) {
	older, newer := deployment(), deployment()
	newer.ResourceVersion, newer.ManagedFields = "11", nil
	e := event.UpdateEvent{ObjectOld: older, ObjectNew: newer}
	for name, p := range map[string]predicate.Predicate{"Primary": predicates.Primary(), "Owned": predicates.Owned()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Update(e)
			}
		})
	}
}

// An embedding has the methods of a pointer that may be nil.
type embedding struct{ *appsv1.Deployment }
