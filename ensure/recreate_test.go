package ensure_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// fixed is a Service whose cluster IP and node port are chosen.
func fixed() *corev1.Service {
	return with(service(), func(svc *corev1.Service) {
		svc.Spec.Type = corev1.ServiceTypeNodePort
		svc.Spec.ClusterIP = "10.96.7.7"
		svc.Spec.Ports[0].NodePort = 30777
	})
}

func refused(fields ...string) error {
	var causes []metav1.StatusCause
	for _, field := range fields {
		causes = append(causes, cause(metav1.CauseTypeForbidden, field))
	}
	return status(422, metav1.StatusReasonInvalid, causes...)
}

// What stands in the way of a new object tells whether the old one may be deleted.
func TestRecreate(t *testing.T) {
	affinity := func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "services"}, "web")
	webhooks := quoting("admission webhook \"w\" denied the request", 409, metav1.StatusReasonAlreadyExists)
	headless := func(svc *corev1.Service) { svc.Spec.ClusterIP = corev1.ClusterIPNone }
	otherIP := func(svc *corev1.Service) { svc.Spec.ClusterIP = "10.96.8.8" }
	otherNodePort := func(svc *corev1.Service) { svc.Spec.Ports[0].NodePort = 30888 }
	otherPort := func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 81 }
	for name, tc := range map[string]struct {
		reason  string
		change  func(*corev1.Service)
		update  error
		dryRun  error
		class   error
		deletes bool
	}{
		"the dry run passes":     {"nothing stands in the way", affinity, refused("spec"), nil, nil, true},
		"it exists":              {"that is the last thing the server finds", affinity, refused("spec"), exists, nil, true},
		"a webhook's conflict":   {"it is about something else", affinity, refused("spec"), webhooks, ensure.ErrInvalid, false},
		"a cluster IP":           {"no dry run looks for it", affinity, refused("spec"), refused("spec.clusterIPs[0]"), ensure.ErrImmutable, false},
		"another cluster IP":     {"it may be another's, which no dry run finds", otherIP, refused("spec"), nil, ensure.ErrImmutable, false},
		"no cluster IP any more": {"nobody else can have that", headless, refused("spec"), nil, nil, true},
		"another's node port": {
			"a new one could not be made", otherNodePort, refused("spec"), refused("spec.ports[0].nodePort"),
			ensure.ErrImmutable, false,
		},
		"a new item's node port": {
			"it may be another's", otherPort, refused("spec"), refused("spec.ports[0].nodePort"),
			ensure.ErrImmutable, false,
		},
		"another field":               {"a new one could not be made", affinity, refused("spec"), refused("spec.ports[0].port"), ensure.ErrImmutable, false},
		"the same field":              {"it is invalid", affinity, refused("spec"), refused("spec"), ensure.ErrInvalid, false},
		"a policy":                    {"nothing is known", affinity, refused("spec"), refused(""), ensure.ErrInvalid, false},
		"a quota, or a right":         {"a new one could not be made", affinity, refused("spec"), status(403, metav1.StatusReasonForbidden), ensure.ErrInvalid, false},
		"a policy against updates":    {"it may be meant", affinity, refused(""), nil, ensure.ErrInvalid, false},
		"a right against updates":     {"it is not about the value", affinity, status(403, metav1.StatusReasonForbidden), nil, ensure.ErrAPI, false},
		"a server that is down":       {"nothing is known", affinity, status(500, metav1.StatusReasonInternalError), nil, ensure.ErrAPI, false},
		"the update is a conflict":    {"it is tried again", affinity, conflict(), nil, nil, false},
		"metadata is what is refused": {"that is no content", affinity, refused("metadata.labels"), nil, ensure.ErrInvalid, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			before := created(t, s, fixed())
			s.answers = []error{tc.update, tc.dryRun}
			result, err := ensure.Object(t.Context(), newEnsurer(s), with(fixed(), tc.change), ensure.Recreate(metav1.DeletePropagationOrphan))
			deletes := removals(s.take())
			if !tc.deletes {
				require.ErrorIs(t, err, tc.class, tc.reason)
				require.Empty(t, deletes, tc.reason)
				return
			}
			require.NoError(t, err, tc.reason)
			require.Equal(t, ensure.Recreated, result.Operation)
			require.Equal(t, ensure.DesiredChanged, result.Cause)
			require.Len(t, result.Changes, 1)
			require.NotEqual(t, before.UID, result.Live.UID)
			require.Len(t, deletes, 1)
			require.Equal(t, before.UID, *deletes[0].Preconditions.UID)
			require.Equal(t, before.ResourceVersion, *deletes[0].Preconditions.ResourceVersion)
			require.Equal(t, metav1.DeletePropagationOrphan, *deletes[0].PropagationPolicy)
		})
	}
}

func removals(requests []request) []client.DeleteOptions {
	var out []client.DeleteOptions
	for _, r := range requests {
		if r.verb == "delete" {
			out = append(out, r.removal)
		}
	}
	return out
}

// immutableNow has the server refuse the next update of spec for good.
func (s *apiServer) immutableNow() { s.answers = []error{refused("spec"), nil} }

func affine() *corev1.Service {
	return with(service(), func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
}

// A field that is to be retired does not keep the child from being recreated for a change of desired.
func TestRecreateBesideRetire(t *testing.T) {
	s := newServer()
	created(t, s, fixed())
	s.edit(t, fixed(), `{"metadata":{"labels":{"old":"x"}}}`)
	s.answers = []error{refused("spec"), nil}
	changed := with(fixed(), func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	result := mustEnsure(t, newEnsurer(s), changed, ensure.MigrateFrom("kubectl-edit"), ensure.Retire("metadata.labels[old]"),
		ensure.Recreate(metav1.DeletePropagationBackground))
	require.Equal(t, ensure.Recreated, result.Operation, "%v", s.verbs())
	require.Equal(t, ensure.DesiredChanged, result.Cause)
}

func TestRecreateWaitsUntilTheOldOneIsGone(t *testing.T) {
	s := newServer()
	before := created(t, s, service())
	s.edit(t, service(), `{"metadata":{"finalizers":["example.com/wait"]}}`)
	e := newEnsurer(s)
	recreate := ensure.Recreate(metav1.DeletePropagationBackground)
	s.immutableNow()
	_, err := ensure.Object(t.Context(), e, affine(), recreate)
	require.ErrorIs(t, err, ensure.ErrTerminating)
	require.Equal(t, before.UID, live(t, s, service()).UID)

	s.edit(t, service(), `{"metadata":{"finalizers":[]}}`)
	result := mustEnsure(t, e, affine(), recreate)
	require.Equal(t, ensure.Recreated, result.Operation)
	require.Equal(t, ensure.DesiredChanged, result.Cause)
	require.Equal(t, []ensure.Change{{Path: "spec.sessionAffinity"}}, result.Changes)
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, affine(), recreate).Operation)

	s.remove(t, service())
	require.Equal(t, ensure.Created, mustEnsure(t, e, affine(), recreate).Operation, "that one somebody else deleted")
}

// Nobody else deleted the old one, so that nothing is asked about the owner.
func TestRecreateOfOneThatIsGoneAMomentLater(t *testing.T) {
	s := newServer()
	e, controlled := newEnsurer(s), ensure.ControlledBy(shop())
	mustEnsure(t, e, service(), controlled)
	s.edit(t, service(), `{"metadata":{"finalizers":["example.com/wait"]}}`)
	s.immutableNow()
	s.take()
	isTried := false
	s.before = func(verb string) {
		isTried = isTried || verb == "create"
		if isTried && verb == "get" {
			s.before = nil
			s.edit(t, service(), `{"metadata":{"finalizers":[]}}`)
		}
	}
	result := mustEnsure(t, e, affine(), controlled, ensure.Recreate(metav1.DeletePropagationBackground))
	require.Equal(t, ensure.Recreated, result.Operation)
	require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "fields", "dry run", "delete", "create", "get", "create"}, s.verbs()))
}

// The garbage collector may have deleted the old one, because the owner is gone.
func TestRecreateOfOneThatSomebodyElseDeletes(t *testing.T) {
	s := newServer()
	e, controlled := newEnsurer(s), ensure.ControlledBy(shop())
	mustEnsure(t, e, service(), controlled)
	s.immutableNow()
	s.before = func(verb string) {
		if verb == "delete" {
			s.before = nil
			s.remove(t, shop())
			s.remove(t, service())
		}
	}
	_, err := ensure.Object(t.Context(), e, affine(), controlled, ensure.Recreate(metav1.DeletePropagationBackground))
	require.ErrorIs(t, err, ensure.ErrOwnerTerminating)
}

func TestRecreateIsBeatenByAnotherInstance(t *testing.T) {
	s := newServer()
	created(t, s, service())
	s.edit(t, service(), `{"metadata":{"finalizers":["example.com/wait"]}}`)
	e := newEnsurer(s)
	s.immutableNow()
	_, err := ensure.Object(t.Context(), e, affine(), ensure.Recreate(metav1.DeletePropagationBackground))
	require.ErrorIs(t, err, ensure.ErrTerminating)

	s.edit(t, service(), `{"metadata":{"finalizers":[]}}`)
	created(t, s, affine())
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, affine()).Operation)
	s.remove(t, service())
	require.Equal(t, ensure.Created, mustEnsure(t, e, affine()).Operation, "not the one that was to be made anew")
}

func TestRecreateLeavesAloneWhatWasOnlyAdopted(t *testing.T) {
	theirs := with(service(), func(svc *corev1.Service) { svc.UID = "uid-of-theirs" })
	s := newServer(theirs)
	s.immutableNow()
	_, err := ensure.Object(t.Context(), newEnsurer(s), affine(), ensure.Adopt(), ensure.Recreate(metav1.DeletePropagationOrphan))
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Empty(t, removals(s.take()))
}

// TestRecreateLeavesACopyAlone: somebody copied a child with its digest. A cache without managed fields does not show that.
func TestRecreateLeavesACopyAlone(t *testing.T) {
	ours := created(t, newServer(), service())
	for name, show := range map[string]view{"cached": faithful, "cached without managed fields": withoutManagedFields} {
		t.Run(name, func(t *testing.T) {
			s := newServer(with(service(), func(svc *corev1.Service) {
				svc.UID, svc.Annotations = "uid-of-theirs", ours.Annotations
				svc.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", metav1.ManagedFieldsOperationUpdate)}
			}))
			s.immutableNow()
			e := ensure.New(s.cached(show), s, fieldOwner)
			_, err := ensure.Object(t.Context(), e, affine(), ensure.Recreate(metav1.DeletePropagationOrphan))
			require.Error(t, err)
			require.Empty(t, removals(s.take()))
		})
	}
}

func TestRecreateOfWhatIsAsDesired(t *testing.T) {
	s := newServer()
	created(t, s, service())
	e := newEnsurer(s)
	mustEnsure(t, e, service())
	s.edit(t, service(), `{"spec":{"externalName":"theirs"}}`)
	s.answers = []error{refused("spec"), refused("spec"), nil}
	_, err := ensure.Object(t.Context(), e, service(), ensure.Recreate(metav1.DeletePropagationOrphan))
	require.ErrorIs(t, err, ensure.ErrImmutable, "a webhook's doing: a new one would be no better")
	require.Empty(t, removals(s.take()))
}

func TestRecreateIsOfTheVersionThatWasLookedAt(t *testing.T) {
	s := newServer()
	created(t, s, service())
	s.immutableNow()
	s.before = func(verb string) {
		if verb == "delete" {
			s.before = nil
			s.edit(t, service(), `{"metadata":{"labels":{"keep":"me"}}}`)
		}
	}
	result := mustEnsure(t, newEnsurer(s), affine(), ensure.Recreate(metav1.DeletePropagationOrphan))
	require.Equal(t, ensure.Updated, result.Operation, "it is looked at once more, and this time the server lets it be changed")
	require.Empty(t, cmp.Diff([]string{"get", "apply", "get", "fields", "dry run", "delete", "get", "apply"}, s.verbs()))
	require.Equal(t, "me", result.Live.Labels["keep"])
}

// Drift is no reason to delete, unless that is said.
func TestRecreateForDrift(t *testing.T) {
	drifted := func(t *testing.T) (*apiServer, *ensure.Ensurer) {
		t.Helper()
		s := newServer()
		created(t, s, service())
		e := newEnsurer(s)
		mustEnsure(t, e, service())
		s.edit(t, service(), `{"spec":{"selector":{"app":"theirs"}}}`)
		s.immutableNow()
		s.take()
		return s, e
	}
	anew := ensure.Recreate(metav1.DeletePropagationBackground)
	s, e := drifted(t)
	_, err := ensure.Object(t.Context(), e, service(), anew)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.Empty(t, removals(s.take()))

	_, e = drifted(t)
	result := mustEnsure(t, e, service(), ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift))
	require.Equal(t, ensure.Recreated, result.Operation)
	require.Equal(t, ensure.Drifted, result.Cause)
}

// What takes more with it than itself is deleted only by the extent that says so.
func TestRecreateOfWhatHoldsMore(t *testing.T) {
	claim := func(size string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			}},
		}
	}
	s := newServer()
	created(t, s, claim("2Gi"))
	smaller, anew := claim("1Gi"), ensure.Recreate(metav1.DeletePropagationBackground)
	s.immutableNow()
	_, err := ensure.Object(t.Context(), newEnsurer(s), smaller, anew)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	require.ErrorContains(t, err, "delete the object so that it is created again, which loses its data")
	require.Empty(t, removals(s.take()))

	e := newEnsurer(s)
	s.immutableNow()
	_, err = ensure.Object(t.Context(), e, smaller, anew)
	require.ErrorIs(t, err, ensure.ErrImmutable)
	s.immutableNow()
	result := mustEnsure(t, e, smaller, ensure.Recreate(metav1.DeletePropagationBackground, ensure.DeleteData))
	require.Equal(t, ensure.Recreated, result.Operation, "what was refused before is allowed now")

	s.immutableNow()
	larger := claim("2Gi")
	_, err = ensure.Set(t.Context(), newEnsurer(s), shop(), []client.Object{larger}, ensure.OnlyFor(larger, anew))
	require.ErrorIs(t, err, ensure.ErrImmutable, "OnlyFor does not say it")
}

// A refusal is not asked for again and again.
func TestRefusalsAreRemembered(t *testing.T) {
	s := newServer()
	created(t, s, service())
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	e := ensure.New(s.cached(faithful), s, fieldOwner, withClock(clock))
	s.immutableNow()
	_, first := ensure.Object(t.Context(), e, affine())
	require.ErrorIs(t, first, ensure.ErrImmutable)
	s.take()
	for range 10 {
		_, err := ensure.Object(t.Context(), e, affine())
		require.EqualError(t, err, first.Error())
		require.ErrorIs(t, err, ensure.ErrImmutable)
	}
	require.Empty(t, s.verbs())

	var failed *ensure.Error
	require.ErrorAs(t, first, &failed)
	clock.SetTime(clock.Now().Add(failed.After))
	s.immutableNow()
	_, again := ensure.Object(t.Context(), e, affine())
	require.ErrorIs(t, again, ensure.ErrImmutable)
	require.Contains(t, s.verbs(), "apply", "it is tried again")
	s.answers = nil
	require.Equal(t, ensure.Updated, mustEnsure(t, e, with(affine(), func(svc *corev1.Service) { svc.Labels = map[string]string{"a": "b"} })).Operation,
		"another desired state is tried at once")
}
