package children_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
)

// tolerant is a pod that no node runs, as its scheduler does not exist.
func (f *fixture) tolerant(label string, keys ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: f.objectMeta("pod"), Spec: corev1.PodSpec{
		SchedulerName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
	}}
	pod.Labels = map[string]string{"l": label}
	for _, key := range append(keys, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	}
	return pod
}

func (f *fixture) job(label string, suspend bool, change func(*corev1.PodSpec)) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: f.objectMeta("job"), Spec: batchv1.JobSpec{Suspend: new(suspend), Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{
			SchedulerName: "nobody", RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
		},
	}}}
	job.Labels = map[string]string{"l": label}
	change(&job.Spec.Template.Spec)
	return job
}

// edit changes a live object as somebody with kubectl does.
func (f *fixture) edit(obj client.Object, patch string) {
	f.t.Helper()
	form := types.StrategicMergePatchType
	if patch[0] == '[' {
		form = types.JSONPatchType
	}
	require.NoError(f.t, f.admin.Patch(f.ctx, obj.DeepCopyObject().(client.Object), client.RawPatch(form, []byte(patch))))
}

// A driftCase is an object in which somebody changed a field, and a desired state that changes another one.
type driftCase struct {
	live, desired client.Object
	edits         []string
	// paths are those of the error, empty if the object is recreated.
	paths []string
	text  string
}

const appendedToleration = `[{"op":"add","path":"/spec/tolerations/-","value":{"key":"b","operator":"Exists","effect":"NoExecute"}}]`

func driftCases(f *fixture) map[string]driftCase {
	disk := func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"disk": "ssd"} }
	spread := func(spec *corev1.PodSpec) {
		disk(spec)
		spec.Tolerations = []corev1.Toleration{{Key: "ours", Operator: corev1.TolerationOpExists}}
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}}},
		}}}
	}
	queued := func(template string) []string { // by a queue, which then starts the job
		return []string{`{"spec":{"template":{"spec":` + template + `}}}`, `{"spec":{"suspend":false}}`}
	}
	another := func(change func(*corev1.PodSpec)) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) { change(spec); spec.Containers[0].Image = "example.com/app:2" }
	}
	withTwo := f.tolerant("2", "a")
	withTwo.Spec.Containers[0].Command = []string{"x"}
	return map[string]driftCase{
		"a toleration was appended to a pod": {
			live: f.tolerant("1", "a"), desired: f.tolerant("2", "a"), edits: []string{appendedToleration},
			paths: []string{"spec.tolerations"}, text: "spec.tolerations",
		},
		"a toleration was appended to a pod whose command changes": {
			live: f.tolerant("1", "a"), desired: withTwo, edits: []string{appendedToleration},
		},
		"a node selector of a job": {
			live: f.job("1", true, disk), desired: f.job("2", false, disk),
			edits: queued(`{"nodeSelector":{"disk":"hdd"}}`), paths: []string{"spec.template.spec.nodeSelector"}, text: "spec.template.spec.nodeSelector",
		},
		"tolerations of a job": {
			live: f.job("1", true, spread), desired: f.job("2", false, spread),
			edits: queued(`{"tolerations":[{"key":"theirs","operator":"Exists"}]}`), paths: []string{"spec.template.spec.tolerations"},
		},
		"an affinity of a job": {
			live: f.job("1", true, spread), desired: f.job("2", false, spread),
			edits: queued(`{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[` +
				`{"matchExpressions":[{"key":"rack","operator":"Exists"}]}]}}}}`),
			paths: []string{"spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"},
		},
		"a node selector of a job whose image changes": {
			live: f.job("1", true, disk), desired: f.job("2", false, another(disk)), edits: queued(`{"nodeSelector":{"disk":"hdd"}}`),
		},
	}
}

// TestDriftIsNoReasonToDelete: the API server refuses to revert what somebody changed. The object stays if desired
// changed nothing else that is immutable, and is recreated if it did.
func TestDriftIsNoReasonToDelete(t *testing.T) {
	t.Parallel()
	for name := range driftCases(&fixture{}) {
		for caches, open := range map[string]func(*testing.T) *fixture{
			"": newFixture, ", cached": newCachedFixture, ", from a cache that strips": newStrippedFixture,
		} {
			t.Run(name+caches, func(t *testing.T) {
				t.Parallel()
				f := open(t)
				tc := driftCases(f)[name]
				created := f.mustEnsure(ensure.Created, tc.live)
				for _, edit := range tc.edits {
					f.edit(tc.live, edit)
				}
				f.awaitCached(tc.live)
				for _, opts := range [][]ensure.Option{{ensure.DryRun(), recreate}, {recreate}, {recreate, ensure.MigrateFrom("old")}} {
					res, err := f.retried(tc.desired, opts...)
					if tc.paths == nil {
						require.NoError(t, err)
						require.Equal(t, ensure.Recreated, res.Operation)
						break
					}
					require.ErrorIs(t, err, ensure.ErrImmutable, "%s %v", res.Operation, res.Changes)
					require.ErrorContains(t, err, tc.text)
					require.NotContains(t, err.Error(), "metadata.labels")
					var failed *ensure.Error
					require.ErrorAs(t, err, &failed)
					for _, path := range failed.Paths {
						require.Contains(t, path, tc.paths[0])
					}
					require.Equal(t, created.Live.GetUID(), f.find(tc.live).GetUID())
				}
				if tc.paths == nil {
					return
				}
				res, err := f.retried(tc.desired, recreateOnDrift)
				require.NoError(t, err)
				require.Equal(t, ensure.Recreated, res.Operation)
			})
		}
	}
}

// TestDriftByOurOwnUpdate: the operator itself, or an earlier version of it, appended the toleration by an update.
func TestDriftByOurOwnUpdate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	created := f.mustEnsure(ensure.Created, f.tolerant("1", "a"))
	patch := client.RawPatch(types.JSONPatchType, []byte(appendedToleration))
	require.NoError(t, f.admin.Patch(f.ctx, f.tolerant("1", "a"), patch, client.FieldOwner(fieldOwner)))
	_, err := f.retried(f.tolerant("2", "a"), recreate)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Equal(t, created.Live.GetUID(), f.find(f.tolerant("1")).GetUID())
}

// retried repeats a call that meets a conflict, as the controllers of the object may write at any time.
func (f *fixture) retried(desired client.Object, opts ...ensure.Option) (res ensure.Result[client.Object], err error) {
	f.t.Helper()
	f.await("a call without a conflict", func() bool {
		res, err = f.ensure(desired, opts...)
		return ensure.Reason(err) != "Conflict"
	})
	return res, err
}

// A strippingClient reads as from a cache that strips managed fields.
type strippingClient struct{ client.Client }

func (s *strippingClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := s.Client.Get(ctx, key, obj, opts...)
	obj.SetManagedFields(nil)
	return err
}

func newStrippedFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.reader, f.client = f.client, &strippingClient{f.client}
	f.restart()
	return f
}

// TestImmutableAfterAMigration: an earlier version of the operator wrote by updates. What it set differs from desired
// in an immutable field, which is no reason to delete as nothing shows that desired changed.
func TestImmutableAfterAMigration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := f.frozen("config", "made")
	require.NoError(t, f.admin.Create(f.ctx, f.controlled(old)))
	migrate := ensure.MigrateFrom("kubectl-edit")
	_, err := f.ensure(f.frozen("config", "changed"), recreate, migrate)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	res := f.mustEnsure(ensure.Updated, f.frozen("config", "made"), migrate)
	require.Equal(t, f.find(old).GetUID(), res.Live.GetUID())
}

// controlled returns obj with the owner of the fixture as its controller.
func (f *fixture) controlled(obj client.Object) client.Object {
	f.t.Helper()
	owner := f.find(f.owner)
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true),
	}})
	return obj
}

// TestRecreateBehindAWebhook: a webhook changes an immutable field of each new object. After a change of desired, the
// object is recreated once, as the API server refuses desired, and not again.
func TestRecreateBehindAWebhook(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := shared.MutatingWebhook(t.Context(), "ensure-selects",
		[]admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
		}}, admission.HandlerFunc(selectNode))
	require.NoError(t, err)
	job := func(label string) client.Object {
		return f.job(label, false, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"disk": "ssd", "webhook": "this"} })
	}
	created := f.mustEnsure(ensure.Created, job("1"), recreate)
	require.Equal(t, "webhook", created.Live.(*batchv1.Job).Spec.Template.Spec.NodeSelector["disk"])
	for range 3 {
		f.mustEnsure(ensure.Unchanged, job("1"), recreate)
	}
	res, err := f.retried(job("2"), recreate)
	require.NoError(t, err)
	require.Equal(t, ensure.Recreated, res.Operation)
	for range 3 {
		f.mustEnsure(ensure.Unchanged, job("2"), recreate)
	}
}

func selectNode(_ context.Context, request admission.Request) admission.Response {
	var job batchv1.Job
	if err := json.Unmarshal(request.Object.Raw, &job); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if job.Spec.Template.Spec.NodeSelector["webhook"] != "this" {
		return admission.Allowed("")
	}
	kind := admissionv1.PatchTypeJSONPatch
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true, PatchType: &kind, Patch: []byte(
		`[{"op":"replace","path":"/spec/template/spec/nodeSelector/disk","value":"webhook"}]`)}}
}

// TestDroppedFieldIsNamed: desired only drops an immutable field, which the error names. The claim holds data, so the
// text says first to undo the change.
func TestDroppedFieldIsNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := func(class *string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: f.objectMeta("claim"), Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
		}}
	}
	f.mustEnsure(ensure.Created, claim(new("fast")))
	_, err := f.retried(claim(nil), recreate)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	var failed *ensure.Error
	require.ErrorAs(t, err, &failed)
	require.Empty(t, cmp.Diff([]string{"spec.storageClassName"}, failed.Paths))
	require.ErrorContains(t, err, "desired differs in spec.storageClassName; undo the change, or delete the object")
	require.ErrorContains(t, err, "which loses its data")
	require.False(t, apierrors.IsNotFound(f.admin.Get(f.ctx, f.keyOf(claim(nil)), claim(nil))))
}

// TestDifferencesInTheSpecAreNamed: the API server names the spec only, of which some fields may change.
func TestDifferencesInTheSpecAreNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustEnsure(ensure.Created, f.database("1Gi"))
	desired := f.database("2Gi")
	desired.Spec.MinReadySeconds = 7
	desired.Labels = map[string]string{"l": "2"}
	_, err := f.retried(desired)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	var failed *ensure.Error
	require.ErrorAs(t, err, &failed)
	require.ElementsMatch(t, []string{"spec.minReadySeconds", "spec.volumeClaimTemplates[0].spec.resources.requests[storage]"}, failed.Paths)
}
