package status_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}
}

// finite is a finalizer that keeps objects in deletion until a test has looked.
const finite = "status.trueup-go.github.io/looked"

func template(name, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec:       podSpec(image),
	}
}

func podSpec(image string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image}}}
}

func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

const (
	good    = "example.org/app:1"
	better  = "example.org/app:2"
	missing = "example.org/app:missing"
)

// until waits until check holds for the live obj.
func until[T client.Object](t *testing.T, r *report, obj T, check func(T) bool) T {
	t.Helper()
	require.Eventually(t, func() bool {
		require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
		return check(obj)
	}, limit, tick)
	return obj
}

// change changes the live obj, and retries after conflicts.
func change[T client.Object](t *testing.T, r *report, obj T, edit func(T)) T {
	t.Helper()
	require.Eventually(t, func() bool {
		require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
		edit(obj)
		return r.client.Update(t.Context(), obj) == nil
	}, limit, tick)
	return obj
}

// write changes obj's status, as its controller would.
func write[T client.Object](t *testing.T, r *report, obj T, edit func(T)) T {
	t.Helper()
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
	require.NoError(t, status.Patch(t.Context(), r.client, obj, edit, status.Live(r.client)))
	return obj
}

func create[T client.Object](t *testing.T, r *report, obj T) T {
	t.Helper()
	require.NoError(t, r.client.Create(t.Context(), obj))
	return obj
}

// remove reads obj while it is being deleted.
func remove[T client.Object](t *testing.T, r *report, obj T) {
	t.Helper()
	change(t, r, obj, func(obj T) { obj.SetFinalizers(append(obj.GetFinalizers(), finite)) })
	require.NoError(t, r.client.Delete(t.Context(), obj, client.GracePeriodSeconds(0)))
	until(t, r, obj, func(obj T) bool { return obj.GetDeletionTimestamp() != nil })
	r.look(t, "deleted", obj)
	change(t, r, obj, func(obj T) { obj.SetFinalizers(nil) })
}

func TestReadinessBesideKstatus(t *testing.T) {
	r := &report{client: newClient(t, "readiness")}
	for _, walk := range []struct {
		name string
		do   func(*testing.T, *report)
	}{
		{"Deployment", deployments},
		{"StatefulSet", statefulSets},
		{"DaemonSet", daemonSets},
		{"ReplicaSet", replicaSets},
		{"Pod", pods},
		{"Job", jobs},
		{"PersistentVolumeClaim", claims},
		{"Service", services},
		{"CustomResourceDefinition", definitions},
		{"Panel", panels},
		{"ConfigMap", configMaps},
	} {
		require.True(t, t.Run(walk.name, func(t *testing.T) { walk.do(t, r) }))
	}
	r.check(t)
}

func deployments(t *testing.T, r *report) {
	namespace := shared.Namespace(t)
	settled := func(d *appsv1.Deployment) bool {
		s, wanted := d.Status, *d.Spec.Replicas
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == wanted && s.Replicas == wanted && s.AvailableReplicas == wanted
	}
	app := &appsv1.Deployment{ObjectMeta: named(namespace, "app"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: selector("app"), Template: template("app", good),
	}}
	none := app.DeepCopy()
	none.Name, none.Spec.Replicas = "none", new(int32(0))

	r.look(t, "none wanted, not observed", create(t, r, none))
	r.look(t, "created", create(t, r, app))
	r.look(t, "available", until(t, r, app, settled))
	r.look(t, "new image, not observed", change(t, r, app, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = better }))
	r.look(t, "new image, rolled out", until(t, r, app, settled))
	r.look(t, "scaled to none", until(t, r, change(t, r, app, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }), settled))
	change(t, r, app, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) })
	until(t, r, app, settled)
	change(t, r, app, func(d *appsv1.Deployment) { d.Spec.Paused = true })
	r.look(t, "paused", until(t, r, app, settled))
	change(t, r, app, func(d *appsv1.Deployment) {
		d.Spec.Paused, d.Spec.Template.Spec.Containers[0].Image = false, missing
	})
	r.look(t, "an image that does not come", until(t, r, app, func(d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == 1 && d.Status.UnavailableReplicas == 1
	}))
	change(t, r, app, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(1)) })
	r.look(t, "beyond its deadline", until(t, r, app, func(d *appsv1.Deployment) bool {
		return hasReason(d.Status.Conditions, "ProgressDeadlineExceeded")
	}))
	remove(t, r, app)
}

func hasReason(conditions []appsv1.DeploymentCondition, reason string) bool {
	for _, c := range conditions {
		if c.Reason == reason {
			return true
		}
	}
	return false
}

func statefulSets(t *testing.T, r *report) {
	namespace := shared.Namespace(t)
	launch := func(name string, edit func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		s := &appsv1.StatefulSet{ObjectMeta: named(namespace, name), Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)), Selector: selector(name), Template: template(name, good), ServiceName: name,
		}}
		edit(s)
		return create(t, r, s)
	}
	ready := func(s *appsv1.StatefulSet) bool {
		return s.Status.ObservedGeneration == s.Generation && s.Status.ReadyReplicas == *s.Spec.Replicas
	}
	updated := func(count int32) func(*appsv1.StatefulSet) bool {
		return func(s *appsv1.StatefulSet) bool {
			return ready(s) && s.Status.UpdateRevision != s.Status.CurrentRevision && s.Status.UpdatedReplicas == count
		}
	}
	image := func(name string) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = name }
	}

	r.look(t, "none wanted, not observed", launch("none", func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(0)) }))
	app := launch("app", func(*appsv1.StatefulSet) {})
	r.look(t, "created", app)
	r.look(t, "available", until(t, r, app, ready))
	r.look(t, "new image, not observed", change(t, r, app, image(better)))
	r.look(t, "new image, rolled out", until(t, r, app, func(s *appsv1.StatefulSet) bool {
		return ready(s) && s.Status.UpdateRevision == s.Status.CurrentRevision && s.Status.UpdatedReplicas == 2
	}))
	change(t, r, app, image(missing))
	r.look(t, "an image that does not come", until(t, r, app, func(s *appsv1.StatefulSet) bool {
		return s.Status.ObservedGeneration == s.Generation && s.Status.ReadyReplicas == 1 && s.Status.UpdatedReplicas == 1
	}))
	remove(t, r, app)

	parted := launch("parted", func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
	})
	until(t, r, parted, ready)
	change(t, r, parted, image(better))
	r.look(t, "partition, new image where it is wanted", until(t, r, parted, updated(1)))

	manual := launch("manual", func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType })
	r.look(t, "OnDelete, created", manual)
	r.look(t, "OnDelete, available", until(t, r, manual, ready))
	change(t, r, manual, image(better))
	r.look(t, "OnDelete, new image", until(t, r, manual, updated(0)))

	slow := launch("slow", func(s *appsv1.StatefulSet) { s.Spec.Replicas, s.Spec.MinReadySeconds = new(int32(1)), 3600 })
	r.look(t, "minReadySeconds", until(t, r, slow, ready))
}

func daemonSets(t *testing.T, r *report) {
	app := &appsv1.DaemonSet{ObjectMeta: named(shared.Namespace(t), "app"), Spec: appsv1.DaemonSetSpec{
		Selector: selector("app"), Template: template("app", good),
	}}
	nowhere := app.DeepCopy()
	nowhere.Name, nowhere.Spec.Template.Spec.NodeSelector = "nowhere", map[string]string{"no": "such-node"}
	settled := func(d *appsv1.DaemonSet) bool {
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.DesiredNumberScheduled == 2 && s.UpdatedNumberScheduled == 2 && s.NumberAvailable == 2
	}
	r.look(t, "created", create(t, r, app))
	r.look(t, "available", until(t, r, app, settled))
	r.look(t, "new image, not observed", change(t, r, app, func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = better }))
	r.look(t, "new image, rolled out", until(t, r, app, settled))
	change(t, r, app, func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = missing })
	r.look(t, "an image that does not come", until(t, r, app, func(d *appsv1.DaemonSet) bool {
		return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedNumberScheduled == 1 && d.Status.NumberUnavailable == 1
	}))
	remove(t, r, app)

	r.look(t, "on no node", until(t, r, create(t, r, nowhere), func(d *appsv1.DaemonSet) bool {
		return d.Status.ObservedGeneration == d.Generation && d.Status.DesiredNumberScheduled == 0
	}))
}

func replicaSets(t *testing.T, r *report) {
	namespace := shared.Namespace(t)
	app := &appsv1.ReplicaSet{ObjectMeta: named(namespace, "app"), Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(2)), Selector: selector("app"), Template: template("app", good),
	}}
	none, stuck, refused := app.DeepCopy(), app.DeepCopy(), app.DeepCopy()
	none.ObjectMeta, none.Spec.Replicas = named(namespace, "none"), new(int32(0))
	stuck.ObjectMeta, stuck.Spec.Selector, stuck.Spec.Template = named(namespace, "stuck"), selector("stuck"), template("stuck", missing)
	refused.ObjectMeta, refused.Spec.Selector, refused.Spec.Template = named(namespace, "refused"), selector("refused"), template("refused", good)
	refused.Spec.Template.Spec.ServiceAccountName = "nobody"
	settled := func(s *appsv1.ReplicaSet) bool {
		return s.Status.ObservedGeneration == s.Generation && s.Status.Replicas == *s.Spec.Replicas && s.Status.AvailableReplicas == *s.Spec.Replicas
	}

	r.look(t, "none wanted, not observed", create(t, r, none))
	r.look(t, "none wanted", until(t, r, none, settled))
	r.look(t, "created", create(t, r, app))
	r.look(t, "available", until(t, r, app, settled))
	r.look(t, "an image that does not come", until(t, r, create(t, r, stuck), func(s *appsv1.ReplicaSet) bool { return s.Status.Replicas == 2 }))
	r.look(t, "its pods are refused", until(t, r, create(t, r, refused), func(s *appsv1.ReplicaSet) bool { return len(s.Status.Conditions) > 0 }))
	remove(t, r, app)
}

func pods(t *testing.T, r *report) {
	namespace := shared.Namespace(t)
	launch := func(name, image string, edit func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: named(namespace, name), Spec: podSpec(image)}
		edit(pod)
		return create(t, r, pod)
	}
	same := func(*corev1.Pod) {}
	running := func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }
	waits := func(p *corev1.Pod) bool { return len(p.Status.ContainerStatuses) > 0 }
	crash := func(name string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{
			Name: name, Image: missing, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		}}
	}

	app := launch("app", good, same)
	r.look(t, "created", app)
	r.look(t, "ready", until(t, r, app, running))
	r.look(t, "no longer ready", write(t, r, app, func(p *corev1.Pod) {
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}))
	r.look(t, "succeeded", write(t, r, app, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))
	remove(t, r, app)

	held := launch("held", missing, func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: missing}} })
	r.look(t, "an image that does not come", until(t, r, held, waits))
	r.look(t, "init container crashes", write(t, r, held, func(p *corev1.Pod) { p.Status.InitContainerStatuses = crash("init") }))
	r.look(t, "container crashes", write(t, r, held, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.InitContainerStatuses, p.Status.ContainerStatuses = corev1.PodRunning, nil, crash("app")
	}))
	r.look(t, "failed", write(t, r, held, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.ContainerStatuses = corev1.PodFailed, "Evicted", nil
	}))

	homeless := launch("homeless", good, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"no": "such-node"} })
	until(t, r, homeless, func(p *corev1.Pod) bool { return len(p.Status.Conditions) > 0 })
	homeless.CreationTimestamp = metav1.NewTime(homeless.CreationTimestamp.Add(-time.Minute)) // as it will look in a while
	r.look(t, "unschedulable", homeless)
}

func jobs(t *testing.T, r *report) {
	namespace := shared.Namespace(t)
	launch := func(name, image string, edit func(*batchv1.Job)) *batchv1.Job {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)), Template: corev1.PodTemplateSpec{Spec: podSpec(image)},
		}}
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		edit(job)
		return create(t, r, job)
	}
	same := func(*batchv1.Job) {}
	is := func(conditionType batchv1.JobConditionType) func(*batchv1.Job) bool {
		return func(j *batchv1.Job) bool {
			for _, c := range j.Status.Conditions {
				if c.Type == conditionType && c.Status == corev1.ConditionTrue {
					return true
				}
			}
			return false
		}
	}

	app := launch("app", good, same)
	r.look(t, "created", app)
	r.look(t, "complete", until(t, r, app, is(batchv1.JobComplete)))
	remove(t, r, app)

	r.look(t, "suspended", until(t, r, launch("suspended", good, func(j *batchv1.Job) { j.Spec.Suspend = new(true) }), is(batchv1.JobSuspended)))

	stopped := until(t, r, launch("stopped", missing, same), func(j *batchv1.Job) bool { return j.Status.StartTime != nil })
	r.look(t, "suspended after it was started", until(t, r, change(t, r, stopped, func(j *batchv1.Job) { j.Spec.Suspend = new(true) }), is(batchv1.JobSuspended)))

	held := launch("held", missing, same)
	r.look(t, "under way", until(t, r, held, func(j *batchv1.Job) bool { return j.Status.Active == 1 && j.Status.StartTime != nil }))
	var found corev1.PodList
	require.NoError(t, r.client.List(t.Context(), &found, client.InNamespace(namespace), client.MatchingLabels{batchv1.JobNameLabel: "held"}))
	require.Len(t, found.Items, 1)
	// Writes that the node has begun would revert this write.
	pod := until(t, r, &found.Items[0], func(p *corev1.Pod) bool { return len(p.Status.ContainerStatuses) > 0 })
	write(t, r, pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	r.look(t, "failed", until(t, r, held, is(batchv1.JobFailed)))
}

func claims(t *testing.T, r *report) {
	namespace := shared.Namespace(t)
	class := create(t, r, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "status-test"}, Provisioner: "example.com/nobody", AllowVolumeExpansion: new(true),
	})
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	data := &corev1.PersistentVolumeClaim{ObjectMeta: named(namespace, "data"), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class.Name,
		Resources: corev1.VolumeResourceRequirements{Requests: size},
	}}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "status-test"}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: data.Spec.AccessModes, Capacity: size, StorageClassName: class.Name,
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "nobody.example.com", VolumeHandle: "v"}},
	}}
	is := func(phase corev1.PersistentVolumeClaimPhase) func(*corev1.PersistentVolumeClaim) bool {
		return func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == phase }
	}

	r.look(t, "created", create(t, r, data))
	r.look(t, "bound", until(t, r, func() *corev1.PersistentVolumeClaim { create(t, r, volume); return data }(), is(corev1.ClaimBound)))
	r.look(t, "growing", change(t, r, data, func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi")}
	}))
	require.NoError(t, r.client.Delete(t.Context(), volume))
	change(t, r, volume, func(v *corev1.PersistentVolume) { v.Finalizers = nil })
	r.look(t, "lost", until(t, r, data, is(corev1.ClaimLost)))
	remove(t, r, data)
	require.NoError(t, r.client.Delete(t.Context(), class))
}

func services(t *testing.T, r *report) {
	namespace := shared.Namespace(t)
	web := &corev1.Service{ObjectMeta: named(namespace, "web"), Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}},
	}}
	balanced, external := web.DeepCopy(), web.DeepCopy()
	balanced.Name, balanced.Spec.Type = "balanced", corev1.ServiceTypeLoadBalancer
	external.Name, external.Spec.Type, external.Spec.ExternalName = "external", corev1.ServiceTypeExternalName, "example.com"
	r.look(t, "created", create(t, r, web))
	r.look(t, "LoadBalancer without an address", create(t, r, balanced))
	balanced.Spec.ClusterIP = "" // which the server gives with the answer to a create; before, there is no such object
	r.look(t, "LoadBalancer without a cluster IP", balanced)
	r.look(t, "ExternalName", create(t, r, external))
	remove(t, r, web)
}

func definitions(t *testing.T, r *report) {
	subresource := &apiextensionsv1.CustomResourceSubresourceStatus{}
	first := definition("Gauge", "gauges", typed("object"), subresource)
	second := definition("Meter", "meters", typed("object"), subresource)
	second.Spec.Names.ShortNames = []string{"gauges"}
	r.look(t, "created", create(t, r, first))
	r.look(t, "established", until(t, r, first, cluster.Established))
	r.look(t, "a name that is taken", until(t, r, create(t, r, second), func(d *apiextensionsv1.CustomResourceDefinition) bool {
		return len(d.Status.Conditions) == 2
	}))
	remove(t, r, first)
	require.NoError(t, r.client.Delete(t.Context(), second))
}

func panels(t *testing.T, r *report) {
	panel := create(t, r, &Panel{ObjectMeta: named(shared.Namespace(t), "panel")})
	r.look(t, "created", panel)
	says := func(step string, generation int64, set func(*[]metav1.Condition)) {
		r.look(t, step, write(t, r, panel, func(p *Panel) {
			p.Status.ObservedGeneration, p.Status.Conditions = generation, nil
			set(&p.Status.Conditions)
		}))
	}
	set := status.For(panel)
	says("no condition Ready", 1, func(list *[]metav1.Condition) { set.True(list, "Lit", "R", "") })
	says("not ready", 1, func(list *[]metav1.Condition) { set.False(list, "Ready", "R", "") })
	says("not known whether ready", 1, func(list *[]metav1.Condition) { set.Unknown(list, "Ready", "R", "") })
	says("ready", 1, func(list *[]metav1.Condition) { set.True(list, "Ready", "R", "") })
	says("reconciling", 1, func(list *[]metav1.Condition) {
		set.True(list, "Ready", "R", "")
		set.True(list, "Reconciling", "R", "")
	})
	says("stalled", 1, func(list *[]metav1.Condition) { set.False(list, "Ready", "R", ""); set.True(list, "Stalled", "R", "") })
	change(t, r, panel, func(p *Panel) { p.Spec.Size = 2 })
	says("observedGeneration of an earlier generation", 1, func(list *[]metav1.Condition) { set.True(list, "Ready", "R", "") })
	says("condition Ready of an earlier generation", 0, func(list *[]metav1.Condition) { set.True(list, "Ready", "R", "") })
	says("condition Stalled of an earlier generation", 0, func(list *[]metav1.Condition) { set.True(list, "Stalled", "R", "") })
	remove(t, r, panel)
}

func configMaps(t *testing.T, r *report) {
	settings := create(t, r, &corev1.ConfigMap{ObjectMeta: named(shared.Namespace(t), "settings")})
	r.look(t, "created", settings)
	remove(t, r, settings)
}
