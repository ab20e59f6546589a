package children_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

var (
	anew         = ensure.Recreate(metav1.DeletePropagationBackground)
	anewOrphaned = ensure.Recreate(metav1.DeletePropagationOrphan)
)

// TestRecreateStatefulSetLeavingItsPods: another claim template costs no pod and no claim.
func TestRecreateStatefulSetLeavingItsPods(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	for i := range 3 {
		w.createVolumeFor(fmt.Sprintf("data-db-%d", i), "by-hand")
	}
	w.mustBe(ensure.Created, w.database("1Gi"))
	w.settled(w.database("1Gi"), isReady)
	w.mustBe(ensure.Unchanged, w.database("1Gi"))
	pods, claims, before := w.uids(&corev1.PodList{}, "db"), w.uids(&corev1.PersistentVolumeClaimList{}, "db"), w.find(w.database("1Gi"))
	require.Len(t, pods, 3)
	require.Len(t, claims, 3)

	mark := shared.Mark()
	res := w.eventually(w.database("2Gi"), anewOrphaned)
	require.Equal(t, ensure.Recreated, res.Operation)
	require.Equal(t, ensure.DesiredChanged, res.Cause)
	require.Contains(t, pathsOf(res.Changes), "spec.volumeClaimTemplates[0].spec.resources.requests[storage]")
	require.NotEqual(t, before.GetUID(), res.Live.GetUID())
	// The refused update, the read of conflicting objects, the dry run, the deletion, the creation.
	// As the garbage collector takes a moment to orphan the pods, mostly also an earlier creation
	// that finds the old object, and a read of that object.
	counts := w.counts(mark)
	early := counts["get statefulsets"] - 1
	require.LessOrEqual(t, early, 1)
	delete(counts, "get statefulsets")
	require.Empty(t, cmp.Diff(map[string]int{
		"patch statefulsets": 2 + early, "create statefulsets (dry run)": 1, "patch statefulsets (dry run)": 2, "delete statefulsets": 1,
	}, counts))

	w.settled(w.database("2Gi"), isReady)
	w.await("the pods to be adopted", func() bool { return w.controls(res.Live, &corev1.PodList{}, "db") == 3 })
	require.Empty(t, cmp.Diff(pods, w.uids(&corev1.PodList{}, "db")), "pods")
	require.Empty(t, cmp.Diff(claims, w.uids(&corev1.PersistentVolumeClaimList{}, "db")), "claims")
	w.requireFree(w.database("2Gi"))
}

// TestRecreateDeploymentLeavingItsPods: another selector that selects the same pods costs
// none of them.
func TestRecreateDeploymentLeavingItsPods(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	before, replicaSets, pods := w.runningDeployment()

	desired := w.deployment(2)
	desired.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web"}},
	}}
	res := w.eventually(desired, anewOrphaned)
	require.Equal(t, ensure.Recreated, res.Operation)
	require.Contains(t, pathsOf(res.Changes), "spec.selector.matchExpressions")
	require.NotEqual(t, before.GetUID(), res.Live.GetUID())

	w.await("the ReplicaSet to be adopted", func() bool { return w.controls(res.Live, &appsv1.ReplicaSetList{}, "web") == 1 })
	w.settled(desired, isReady)
	require.Empty(t, cmp.Diff(replicaSets, w.uids(&appsv1.ReplicaSetList{}, "web")), "ReplicaSets")
	require.Empty(t, cmp.Diff(pods, w.uids(&corev1.PodList{}, "web")), "pods")
	w.requireFree(desired)
}

// TestRecreateDeploymentWithItsPods: the old pods go with the old Deployment, which is not
// waited for.
func TestRecreateDeploymentWithItsPods(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	_, replicaSets, pods := w.runningDeployment()

	desired := w.deployment(2)
	desired.Spec.Selector.MatchLabels["tier"], desired.Spec.Template.Labels["tier"] = "front", "front"
	mark := shared.Mark()
	w.mustBe(ensure.Recreated, desired, anew)
	require.Empty(t, cmp.Diff(map[string]int{
		"patch deployments": 2, "get deployments": 1, "create deployments (dry run)": 1, "patch deployments (dry run)": 2, "delete deployments": 1,
	}, w.counts(mark)), "refused update, a look at who is in its way, question, deletion, creation")

	w.settled(desired, isReady)
	w.await("the old pods to be gone", func() bool {
		return !overlap(pods, w.uids(&corev1.PodList{}, "web")) && !overlap(replicaSets, w.uids(&appsv1.ReplicaSetList{}, "web"))
	})
	require.Len(t, w.uids(&corev1.PodList{}, "web"), 2)
	w.requireFree(desired)
}

// TestRecreateWaits: waiting for an object that the finalizers of other programs hold costs no
// requests.
func TestRecreateWaits(t *testing.T) {
	t.Parallel()
	for name, open := range workshops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			desired := w.frozen("config", "changed")
			w.mustBe(ensure.Created, w.frozen("config", "made"))
			w.hold(desired)
			before := w.find(desired)
			_, err := w.object(desired, anew)
			require.ErrorIs(t, err, ensure.ErrTerminating)
			w.awaitCached(desired)
			mark := shared.Mark()
			for range 5 {
				_, err := w.object(desired, anew)
				require.ErrorIs(t, err, ensure.ErrTerminating)
			}
			require.Zero(t, writesIn(w.counts(mark)))
			w.release(desired)
			mark = shared.Mark()
			res := w.mustBe(ensure.Recreated, desired, anew)
			require.Equal(t, 1, writesIn(w.counts(mark)))
			require.Equal(t, ensure.DesiredChanged, res.Cause)
			require.Contains(t, pathsOf(res.Changes), "data[key]")
			require.NotEqual(t, before.GetUID(), res.Live.GetUID())
			res = w.mustBe(ensure.Unchanged, desired, anew)
			require.Empty(t, res.Changes)
		})
	}
}

func writesIn(counts map[string]int) int {
	n := 0
	for what, count := range counts {
		if !strings.HasPrefix(what, "get ") {
			n += count
		}
	}
	return n
}

// TestRecreateOvertaken: another program uses the name while the old object is being deleted.
func TestRecreateOvertaken(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		meanwhile func(*workshop)
		check     func(*workshop, ensure.Result[client.Object], error)
	}{
		"taken by somebody else": {
			func(w *workshop) { require.NoError(w.t, w.human.Create(w.ctx, w.config("config", "theirs"))) },
			func(w *workshop, _ ensure.Result[client.Object], err error) {
				require.ErrorIs(w.t, err, ensure.ErrForeign)
				require.True(w.t, w.exists(w.config("config", "")))
			},
		},
		"no longer wanted for a while": {
			func(w *workshop) {
				res, err := ensure.Absent(w.ctx, w.ensurer, w.frozen("config", ""), ensure.ControlledBy(w.owner))
				require.NoError(w.t, err)
				require.Equal(w.t, ensure.Gone, res.Operation)
			},
			func(w *workshop, res ensure.Result[client.Object], err error) {
				require.NoError(w.t, err)
				require.Equal(w.t, ensure.Created, res.Operation)
				require.Equal(w.t, ensure.Missing, res.Cause)
			},
		},
		"after a restart": {
			(*workshop).restart,
			func(w *workshop, res ensure.Result[client.Object], err error) {
				require.NoError(w.t, err)
				require.Equal(w.t, ensure.Created, res.Operation, "nobody remembers")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t)
			desired := w.frozen("config", "changed")
			w.mustBe(ensure.Created, w.frozen("config", "made"))
			w.hold(desired)
			_, err := w.object(desired, anew)
			require.ErrorIs(t, err, ensure.ErrTerminating)
			w.release(desired)
			tc.meanwhile(w)
			res, err := w.object(desired, anew)
			tc.check(w, res, err)
		})
	}
}

func (w *workshop) requireFree(desired client.Object) {
	w.t.Helper()
	w.mustBe(ensure.Unchanged, desired) // the controllers' writes may be asked about, once
	w.awaitCached(desired)
	w.mustBe(ensure.Unchanged, desired)
	mark := shared.Mark()
	for range 5 {
		w.mustBe(ensure.Unchanged, desired, anew)
	}
	require.Empty(w.t, w.counts(mark))
}

func (w *workshop) runningDeployment() (live client.Object, replicaSets, pods map[string]types.UID) {
	w.t.Helper()
	desired := w.deployment(2)
	w.mustBe(ensure.Created, desired)
	live = w.settled(desired, isReady)
	w.mustBe(ensure.Unchanged, desired)
	replicaSets, pods = w.uids(&appsv1.ReplicaSetList{}, "web"), w.uids(&corev1.PodList{}, "web")
	require.Len(w.t, pods, 2)
	require.Len(w.t, replicaSets, 1)
	return live, replicaSets, pods
}

func (w *workshop) deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: w.named("web"),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: maps.Clone(labels)},
			Template: podsWith(labels),
		},
	}
}

func podsWith(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
	}
}

// database wants a claim of this size for each pod.
func (w *workshop) database(size string) *appsv1.StatefulSet {
	labels := map[string]string{"app": "db"}
	template := podsWith(labels)
	template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return &appsv1.StatefulSet{
		ObjectMeta: w.named("db"),
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: template,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: labels},
				Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: new("by-hand"),
					AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
					},
				},
			}},
		},
	}
}

// createVolumeFor makes the volume of a claim, as there is no provisioner.
func (w *workshop) createVolumeFor(claim, class string) {
	w.t.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "by-hand-"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName:       class,
			ClaimRef:               &corev1.ObjectReference{Namespace: w.namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/by-hand"}},
		},
	}
	require.NoError(w.t, w.human.Create(w.ctx, volume))
	w.t.Cleanup(func() { require.NoError(w.t, w.human.Delete(context.Background(), volume)) })
}

// createExpandableClass lets claims grow, as far as the API server is concerned.
func (w *workshop) createExpandableClass() string {
	w.t.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{GenerateName: "expandable-"},
		Provisioner: "example.com/none", AllowVolumeExpansion: new(true),
	}
	require.NoError(w.t, w.human.Create(w.ctx, class))
	w.t.Cleanup(func() { require.NoError(w.t, w.human.Delete(context.Background(), class)) })
	return class.Name
}

// isReady: nothing is left to do for the controllers, and nothing to write into the status.
func isReady(obj client.Object) bool {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Status.ObservedGeneration == o.Generation && o.Status.AvailableReplicas == *o.Spec.Replicas &&
			o.Status.UpdatedReplicas == *o.Spec.Replicas && o.Status.Replicas == *o.Spec.Replicas &&
			slices.ContainsFunc(o.Status.Conditions, func(condition appsv1.DeploymentCondition) bool {
				return condition.Reason == "NewReplicaSetAvailable"
			})
	case *appsv1.StatefulSet:
		return o.Status.ObservedGeneration == o.Generation && o.Status.AvailableReplicas == *o.Spec.Replicas &&
			o.Status.CurrentReplicas == *o.Spec.Replicas
	}
	return true
}

// uids returns the UIDs of the objects of an app, by name.
func (w *workshop) uids(list client.ObjectList, app string) map[string]types.UID {
	w.t.Helper()
	found := map[string]types.UID{}
	for _, obj := range w.list(list, client.MatchingLabels{"app": app}) {
		found[obj.GetName()] = obj.GetUID()
	}
	return found
}

// controls counts the objects of an app that controller controls.
func (w *workshop) controls(controller client.Object, list client.ObjectList, app string) int {
	w.t.Helper()
	n := 0
	for _, obj := range w.list(list, client.MatchingLabels{"app": app}) {
		if metav1.IsControlledBy(obj, controller) {
			n++
		}
	}
	return n
}

func overlap(a, b map[string]types.UID) bool {
	uids := slices.Collect(maps.Values(a))
	return slices.ContainsFunc(slices.Collect(maps.Values(b)), func(uid types.UID) bool { return slices.Contains(uids, uid) })
}

// TestRecreateBesideAnObstacle has the API server refuse a change for two reasons: a field that cannot
// be changed, and a port that somebody added.
func TestRecreateBesideAnObstacle(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	database := func(size string) *appsv1.StatefulSet {
		set := w.database(size)
		set.Spec.Replicas = new(int32(0))
		set.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "sql", ContainerPort: 5432}}
		return set
	}
	w.mustBe(ensure.Created, database("1Gi"))
	added := `{"spec":{"template":{"spec":{"containers":[{"name":"` + database("1Gi").Spec.Template.Spec.Containers[0].Name +
		`","ports":[{"name":"sql","containerPort":5433},{"$patch":"delete","containerPort":5432}]}]}}}}`
	edited := database("1Gi")
	require.NoError(t, w.human.Patch(w.ctx, edited, client.RawPatch(types.StrategicMergePatchType, []byte(added)), client.FieldOwner("editor")))
	w.awaitCached(edited)

	_, err := w.object(database("2Gi"))
	require.ErrorIs(t, err, ensure.ErrImmutable)
	res := w.eventually(database("2Gi"), anewOrphaned)
	require.Equal(t, ensure.Recreated, res.Operation)
	require.Empty(t, cmp.Diff([]int32{5432}, portsOf(res.Live.(*appsv1.StatefulSet))))
}

// TestRecreateOfWhatWasStripped: somebody strips an object of all metadata and managed fields, as
// kubectl replace can. The object is still ours, and a change of desired may replace it.
func TestRecreateOfWhatWasStripped(t *testing.T) {
	t.Parallel()
	w := newCachedWorkshop(t)
	database := func(size string, port int32) *appsv1.StatefulSet {
		set := w.database(size)
		set.Spec.Replicas = new(int32(0))
		set.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "sql", ContainerPort: port}}
		return set
	}
	w.mustBe(ensure.Created, database("1Gi", 5432))
	w.awaitCached(database("1Gi", 5432))
	w.mustBe(ensure.Unchanged, database("1Gi", 5432))
	stripped := database("1Gi", 5432)
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := w.human.Get(w.ctx, client.ObjectKeyFromObject(stripped), stripped); err != nil {
			return err
		}
		stripped.SetLabels(nil)
		stripped.SetAnnotations(nil)
		stripped.SetOwnerReferences(nil)
		stripped.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) // a list of one empty entry removes all
		return w.human.Update(w.ctx, stripped)
	}))
	w.awaitCached(stripped)
	res := w.mustBe(ensure.Updated, database("1Gi", 5432))
	require.Equal(t, ensure.Drifted, res.Cause)
	res = w.eventually(database("2Gi", 5433), anewOrphaned)
	require.Equal(t, ensure.Recreated, res.Operation)
	require.Empty(t, cmp.Diff([]int32{5433}, portsOf(res.Live.(*appsv1.StatefulSet))))
}

func portsOf(set *appsv1.StatefulSet) []int32 {
	var ports []int32
	for _, port := range set.Spec.Template.Spec.Containers[0].Ports {
		ports = append(ports, port.ContainerPort)
	}
	return ports
}

// TestRecreateBesideDrift: a change that the API server refuses, beside one by hand that can be
// reverted.
func TestRecreateBesideDrift(t *testing.T) {
	t.Parallel()
	for form, written := range map[string]func(*appsv1.StatefulSet) client.Object{
		"typed": func(set *appsv1.StatefulSet) client.Object { return set },
		"unstructured": func(set *appsv1.StatefulSet) client.Object {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
			require.NoError(t, err)
			delete(content, "status")
			u := &unstructured.Unstructured{Object: content}
			u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
			return u
		},
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t)
			database := func(size string) client.Object {
				set := w.database(size)
				set.Spec.Replicas = new(int32(0))
				return written(set)
			}
			w.mustBe(ensure.Created, database("1Gi"))
			edit := `{"spec":{"template":{"spec":{"containers":[{"name":"` + w.database("1Gi").Spec.Template.Spec.Containers[0].Name +
				`","image":"example.com/edited:1"}]}}}}`
			require.NoError(t, w.human.Patch(w.ctx, w.database("1Gi"), client.RawPatch(types.StrategicMergePatchType, []byte(edit)), client.FieldOwner("editor")))
			res := w.eventually(database("2Gi"), anewOrphaned)
			require.Equal(t, ensure.Recreated, res.Operation)
		})
	}
}

// TestRecreateSparesWhatDrifted has a person change a child in a way that cannot be reverted. That
// is left alone, also when desired changes in something else.
func TestRecreateSparesWhatDrifted(t *testing.T) {
	t.Parallel()
	for clients, open := range workshops {
		t.Run(clients, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			settings := func(label string) *corev1.ConfigMap {
				desired := w.config("settings", "made")
				desired.Labels = map[string]string{"version": label}
				return desired
			}
			w.mustBe(ensure.Created, settings("1"), anew)
			edit := `{"immutable":true,"data":{"precious":"theirs"}}`
			for key := range settings("1").Data {
				edit = strings.Replace(edit, `"data":{`, `"data":{"`+key+`":"edited",`, 1)
			}
			require.NoError(t, w.human.Patch(w.ctx, settings("1"), client.RawPatch(types.MergePatchType, []byte(edit)), client.FieldOwner("editor")))
			w.awaitCached(settings("1"))
			before := w.find(settings("1"))
			for _, label := range []string{"1", "2"} {
				_, err := w.object(settings(label), anew)
				require.ErrorIs(t, err, ensure.ErrImmutable)
			}
			require.Equal(t, before.GetUID(), w.find(settings("1")).GetUID(), "it is left alone")

			res := w.eventually(settings("3"), anew, ensure.RecreateOnDrift())
			require.Equal(t, ensure.Recreated, res.Operation)
		})
	}
}

// TestRecreateSparesWhatLostItsDigest has a person make a child again, with the reference to its owner and
// without the digest. The child cannot become as desired, but desired has not changed.
func TestRecreateSparesWhatLostItsDigest(t *testing.T) {
	t.Parallel()
	for clients, open := range workshops {
		t.Run(clients, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			desired := w.config("settings", "made")
			w.mustBe(ensure.Created, desired.DeepCopy(), anew)
			theirs := desired.DeepCopy()
			theirs.OwnerReferences = w.find(desired).GetOwnerReferences()
			theirs.Data, theirs.Immutable = map[string]string{"restored": "from a backup"}, new(true)
			require.NoError(t, w.human.Delete(w.ctx, desired.DeepCopy()))
			require.NoError(t, w.human.Create(w.ctx, theirs, client.FieldOwner("editor")))
			w.awaitCached(theirs)
			w.restart()
			_, err := w.object(desired.DeepCopy(), anew)
			require.ErrorIs(t, err, ensure.ErrImmutable)
			require.Equal(t, theirs.GetUID(), w.find(desired).GetUID())
		})
	}
}
