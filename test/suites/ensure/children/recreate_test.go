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
	recreate          = ensure.Recreate(metav1.DeletePropagationBackground)
	recreateOnDrift   = ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift)
	recreateAndOrphan = ensure.Recreate(metav1.DeletePropagationOrphan)
)

// TestRecreateStatefulSetLeavingItsPods: another claim template costs no pod and no claim.
func TestRecreateStatefulSetLeavingItsPods(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	for i := range 3 {
		f.createVolumeFor(fmt.Sprintf("data-db-%d", i), "by-hand")
	}
	f.mustEnsure(ensure.Created, f.database("1Gi"))
	f.settled(f.database("1Gi"), isReady)
	f.mustEnsure(ensure.Unchanged, f.database("1Gi"))
	pods, claims, before := f.uids(&corev1.PodList{}, "db"), f.uids(&corev1.PersistentVolumeClaimList{}, "db"), f.find(f.database("1Gi"))
	require.Len(t, pods, 3)
	require.Len(t, claims, 3)

	mark := shared.Mark()
	res := f.eventually(f.database("2Gi"), recreateAndOrphan)
	require.Equal(t, ensure.Recreated, res.Operation)
	require.Equal(t, ensure.DesiredChanged, res.Cause)
	require.Contains(t, pathsOf(res.Changes), "spec.volumeClaimTemplates[0].spec.resources.requests[storage]")
	require.NotEqual(t, before.GetUID(), res.Live.GetUID())
	// The refused update, the read of conflicting objects, the dry run, the deletion, the creation.
	// As the garbage collector takes a moment to orphan the pods, mostly also an earlier creation
	// that finds the old object, and a read of that object.
	counts := f.requestCounts(mark)
	early := counts["get statefulsets"] - 1
	require.LessOrEqual(t, early, 1)
	delete(counts, "get statefulsets")
	require.Empty(t, cmp.Diff(map[string]int{
		"patch statefulsets": 2 + early, "create statefulsets (dry run)": 1, "patch statefulsets (dry run)": 2, "delete statefulsets": 1,
	}, counts))

	f.settled(f.database("2Gi"), isReady)
	f.await("the pods to be adopted", func() bool { return f.controls(res.Live, &corev1.PodList{}, "db") == 3 })
	require.Empty(t, cmp.Diff(pods, f.uids(&corev1.PodList{}, "db")), "pods")
	require.Empty(t, cmp.Diff(claims, f.uids(&corev1.PersistentVolumeClaimList{}, "db")), "claims")
	f.requireNoRequest(f.database("2Gi"))
}

// TestRecreateDeploymentLeavingItsPods: another selector that selects the same pods costs
// none of them.
func TestRecreateDeploymentLeavingItsPods(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	before, replicaSets, pods := f.runningDeployment()

	desired := f.deployment(2)
	desired.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web"}},
	}}
	res := f.eventually(desired, recreateAndOrphan)
	require.Equal(t, ensure.Recreated, res.Operation)
	require.Contains(t, pathsOf(res.Changes), "spec.selector.matchExpressions")
	require.NotEqual(t, before.GetUID(), res.Live.GetUID())

	f.await("the ReplicaSet to be adopted", func() bool { return f.controls(res.Live, &appsv1.ReplicaSetList{}, "web") == 1 })
	f.settled(desired, isReady)
	require.Empty(t, cmp.Diff(replicaSets, f.uids(&appsv1.ReplicaSetList{}, "web")), "ReplicaSets")
	require.Empty(t, cmp.Diff(pods, f.uids(&corev1.PodList{}, "web")), "pods")
	f.requireNoRequest(desired)
}

// TestRecreateDeploymentWithItsPods: the old pods go with the old Deployment, which is not
// waited for.
func TestRecreateDeploymentWithItsPods(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	_, replicaSets, pods := f.runningDeployment()

	desired := f.deployment(2)
	desired.Spec.Selector.MatchLabels["tier"], desired.Spec.Template.Labels["tier"] = "front", "front"
	mark := shared.Mark()
	f.mustEnsure(ensure.Recreated, desired, recreate)
	require.Empty(t, cmp.Diff(map[string]int{
		"patch deployments": 2, "get deployments": 1, "create deployments (dry run)": 1, "patch deployments (dry run)": 2, "delete deployments": 1,
	}, f.requestCounts(mark)), "refused update, a look at who is in its way, question, deletion, creation")

	f.settled(desired, isReady)
	f.await("the old pods to be gone", func() bool {
		return !overlap(pods, f.uids(&corev1.PodList{}, "web")) && !overlap(replicaSets, f.uids(&appsv1.ReplicaSetList{}, "web"))
	})
	require.Len(t, f.uids(&corev1.PodList{}, "web"), 2)
	f.requireNoRequest(desired)
}

// TestRecreateWaits: waiting for an object that the finalizers of other programs hold costs no
// requests.
func TestRecreateWaits(t *testing.T) {
	t.Parallel()
	for name, open := range fixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			desired := f.frozen("config", "changed")
			f.mustEnsure(ensure.Created, f.frozen("config", "made"))
			f.hold(desired)
			before := f.find(desired)
			_, err := f.ensure(desired, recreate)
			require.ErrorIs(t, err, ensure.ErrTerminating)
			f.awaitCached(desired)
			mark := shared.Mark()
			for range 5 {
				_, err := f.ensure(desired, recreate)
				require.ErrorIs(t, err, ensure.ErrTerminating)
			}
			require.Zero(t, writesIn(f.requestCounts(mark)))
			f.release(desired)
			mark = shared.Mark()
			res := f.mustEnsure(ensure.Recreated, desired, recreate)
			require.Equal(t, 1, writesIn(f.requestCounts(mark)))
			require.Equal(t, ensure.DesiredChanged, res.Cause)
			require.Contains(t, pathsOf(res.Changes), "data[key]")
			require.NotEqual(t, before.GetUID(), res.Live.GetUID())
			res = f.mustEnsure(ensure.Unchanged, desired, recreate)
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
		meanwhile func(*fixture)
		check     func(*fixture, ensure.Result[client.Object], error)
	}{
		"taken by somebody else": {
			func(f *fixture) { require.NoError(f.t, f.admin.Create(f.ctx, f.config("config", "theirs"))) },
			func(f *fixture, _ ensure.Result[client.Object], err error) {
				require.ErrorIs(f.t, err, ensure.ErrForeign)
				require.True(f.t, f.exists(f.config("config", "")))
			},
		},
		"no longer wanted for a while": {
			func(f *fixture) {
				res, err := ensure.Absent(f.ctx, f.ensurer, f.frozen("config", ""), ensure.ControlledBy(f.owner))
				require.NoError(f.t, err)
				require.Equal(f.t, ensure.Gone, res.Operation)
			},
			func(f *fixture, res ensure.Result[client.Object], err error) {
				require.NoError(f.t, err)
				require.Equal(f.t, ensure.Created, res.Operation)
				require.Equal(f.t, ensure.Missing, res.Cause)
			},
		},
		"after a restart": {
			(*fixture).restart,
			func(f *fixture, res ensure.Result[client.Object], err error) {
				require.NoError(f.t, err)
				require.Equal(f.t, ensure.Created, res.Operation, "nobody remembers")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			desired := f.frozen("config", "changed")
			f.mustEnsure(ensure.Created, f.frozen("config", "made"))
			f.hold(desired)
			_, err := f.ensure(desired, recreate)
			require.ErrorIs(t, err, ensure.ErrTerminating)
			f.release(desired)
			tc.meanwhile(f)
			res, err := f.ensure(desired, recreate)
			tc.check(f, res, err)
		})
	}
}

func (f *fixture) requireNoRequest(desired client.Object) {
	f.t.Helper()
	f.mustEnsure(ensure.Unchanged, desired) // the controllers' writes may be asked about, once
	f.awaitCached(desired)
	f.mustEnsure(ensure.Unchanged, desired)
	mark := shared.Mark()
	for range 5 {
		f.mustEnsure(ensure.Unchanged, desired, recreate)
	}
	require.Empty(f.t, f.requestCounts(mark))
}

func (f *fixture) runningDeployment() (live client.Object, replicaSets, pods map[string]types.UID) {
	f.t.Helper()
	desired := f.deployment(2)
	f.mustEnsure(ensure.Created, desired)
	live = f.settled(desired, isReady)
	f.mustEnsure(ensure.Unchanged, desired)
	replicaSets, pods = f.uids(&appsv1.ReplicaSetList{}, "web"), f.uids(&corev1.PodList{}, "web")
	require.Len(f.t, pods, 2)
	require.Len(f.t, replicaSets, 1)
	return live, replicaSets, pods
}

func (f *fixture) deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: f.objectMeta("web"),
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
func (f *fixture) database(size string) *appsv1.StatefulSet {
	labels := map[string]string{"app": "db"}
	template := podsWith(labels)
	template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return &appsv1.StatefulSet{
		ObjectMeta: f.objectMeta("db"),
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
func (f *fixture) createVolumeFor(claim, class string) {
	f.t.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "by-hand-"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName:       class,
			ClaimRef:               &corev1.ObjectReference{Namespace: f.namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/by-hand"}},
		},
	}
	require.NoError(f.t, f.admin.Create(f.ctx, volume))
	f.t.Cleanup(func() { require.NoError(f.t, f.admin.Delete(context.Background(), volume)) })
}

// createExpandableClass lets claims grow, as far as the API server is concerned.
func (f *fixture) createExpandableClass() string {
	f.t.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{GenerateName: "expandable-"},
		Provisioner: "example.com/none", AllowVolumeExpansion: new(true),
	}
	require.NoError(f.t, f.admin.Create(f.ctx, class))
	f.t.Cleanup(func() { require.NoError(f.t, f.admin.Delete(context.Background(), class)) })
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
func (f *fixture) uids(list client.ObjectList, app string) map[string]types.UID {
	f.t.Helper()
	found := map[string]types.UID{}
	for _, obj := range f.list(list, client.MatchingLabels{"app": app}) {
		found[obj.GetName()] = obj.GetUID()
	}
	return found
}

// controls counts the objects of an app that controller controls.
func (f *fixture) controls(controller client.Object, list client.ObjectList, app string) int {
	f.t.Helper()
	n := 0
	for _, obj := range f.list(list, client.MatchingLabels{"app": app}) {
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
	f := newCachedFixture(t)
	database := func(size string) *appsv1.StatefulSet {
		set := f.database(size)
		set.Spec.Replicas = new(int32(0))
		set.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "sql", ContainerPort: 5432}}
		return set
	}
	f.mustEnsure(ensure.Created, database("1Gi"))
	added := `{"spec":{"template":{"spec":{"containers":[{"name":"` + database("1Gi").Spec.Template.Spec.Containers[0].Name +
		`","ports":[{"name":"sql","containerPort":5433},{"$patch":"delete","containerPort":5432}]}]}}}}`
	edited := database("1Gi")
	require.NoError(t, f.admin.Patch(f.ctx, edited, client.RawPatch(types.StrategicMergePatchType, []byte(added)), client.FieldOwner("editor")))
	f.awaitCached(edited)

	_, err := f.ensure(database("2Gi"))
	require.ErrorIs(t, err, ensure.ErrImmutable)
	res := f.eventually(database("2Gi"), recreateAndOrphan)
	require.Equal(t, ensure.Recreated, res.Operation)
	require.Empty(t, cmp.Diff([]int32{5432}, portsOf(res.Live.(*appsv1.StatefulSet))))
}

// TestRecreateOfWhatWasStripped: somebody strips an object of all metadata and managed fields, as
// kubectl replace can. The object is still ours, and a change of desired may replace it.
func TestRecreateOfWhatWasStripped(t *testing.T) {
	t.Parallel()
	f := newCachedFixture(t)
	database := func(size string, port int32) *appsv1.StatefulSet {
		set := f.database(size)
		set.Spec.Replicas = new(int32(0))
		set.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "sql", ContainerPort: port}}
		return set
	}
	f.mustEnsure(ensure.Created, database("1Gi", 5432))
	f.awaitCached(database("1Gi", 5432))
	f.mustEnsure(ensure.Unchanged, database("1Gi", 5432))
	stripped := database("1Gi", 5432)
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := f.admin.Get(f.ctx, client.ObjectKeyFromObject(stripped), stripped); err != nil {
			return err
		}
		stripped.SetLabels(nil)
		stripped.SetAnnotations(nil)
		stripped.SetOwnerReferences(nil)
		stripped.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) // a list of one empty entry removes all
		return f.admin.Update(f.ctx, stripped)
	}))
	f.awaitCached(stripped)
	res := f.mustEnsure(ensure.Updated, database("1Gi", 5432))
	require.Equal(t, ensure.Drifted, res.Cause)
	res = f.eventually(database("2Gi", 5433), recreateAndOrphan)
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
			f := newFixture(t)
			database := func(size string) client.Object {
				set := f.database(size)
				set.Spec.Replicas = new(int32(0))
				return written(set)
			}
			f.mustEnsure(ensure.Created, database("1Gi"))
			edit := `{"spec":{"template":{"spec":{"containers":[{"name":"` + f.database("1Gi").Spec.Template.Spec.Containers[0].Name +
				`","image":"example.com/edited:1"}]}}}}`
			require.NoError(t, f.admin.Patch(f.ctx, f.database("1Gi"), client.RawPatch(types.StrategicMergePatchType, []byte(edit)), client.FieldOwner("editor")))
			res := f.eventually(database("2Gi"), recreateAndOrphan)
			require.Equal(t, ensure.Recreated, res.Operation)
		})
	}
}

// TestRecreateSparesWhatDrifted has a user change a child in a way that cannot be reverted. That
// is left alone, also when desired changes in something else.
func TestRecreateSparesWhatDrifted(t *testing.T) {
	t.Parallel()
	for clients, open := range fixtures {
		t.Run(clients, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			settings := func(label string) *corev1.ConfigMap {
				desired := f.config("settings", "made")
				desired.Labels = map[string]string{"version": label}
				return desired
			}
			f.mustEnsure(ensure.Created, settings("1"), recreate)
			edit := `{"immutable":true,"data":{"precious":"theirs"}}`
			for key := range settings("1").Data {
				edit = strings.Replace(edit, `"data":{`, `"data":{"`+key+`":"edited",`, 1)
			}
			require.NoError(t, f.admin.Patch(f.ctx, settings("1"), client.RawPatch(types.MergePatchType, []byte(edit)), client.FieldOwner("editor")))
			f.awaitCached(settings("1"))
			before := f.find(settings("1"))
			for _, label := range []string{"1", "2"} {
				_, err := f.ensure(settings(label), recreate)
				require.ErrorIs(t, err, ensure.ErrImmutable)
			}
			require.Equal(t, before.GetUID(), f.find(settings("1")).GetUID(), "it is left alone")

			res := f.eventually(settings("3"), recreateOnDrift)
			require.Equal(t, ensure.Recreated, res.Operation)
		})
	}
}

// TestRecreateSparesWhatLostItsDigest has a user make a child again, with the reference to its owner and
// without the digest. The child cannot become as desired, but desired has not changed.
func TestRecreateSparesWhatLostItsDigest(t *testing.T) {
	t.Parallel()
	for clients, open := range fixtures {
		t.Run(clients, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			desired := f.config("settings", "made")
			f.mustEnsure(ensure.Created, desired.DeepCopy(), recreate)
			theirs := desired.DeepCopy()
			theirs.OwnerReferences = f.find(desired).GetOwnerReferences()
			theirs.Data, theirs.Immutable = map[string]string{"restored": "from a backup"}, new(true)
			require.NoError(t, f.admin.Delete(f.ctx, desired.DeepCopy()))
			require.NoError(t, f.admin.Create(f.ctx, theirs, client.FieldOwner("editor")))
			f.awaitCached(theirs)
			f.restart()
			_, err := f.ensure(desired.DeepCopy(), recreate)
			require.ErrorIs(t, err, ensure.ErrImmutable)
			require.Equal(t, theirs.GetUID(), f.find(desired).GetUID())
		})
	}
}
