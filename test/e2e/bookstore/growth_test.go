package bookstore_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/storage"
)

// TestGrow has every claim grow and the set be made anew around its pods, which go on.
func TestGrow(t *testing.T) {
	process := start(t)
	for name, retain := range map[string]bool{"claims are retained": true, "claims go with the set": false} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, process, retaining(retain))
			storage.Settings{Nodes: storage.Off}.Use(t, shared.Dir())
			before, set := s.uids(t), s.set(t)
			require.Equal(t, "2Gi", template(set))
			told := s.listen(t)

			s.grow(t, "3Gi")
			s.playNodes(t)
			s.settle(t)
			require.Empty(t, cmp.Diff(before, s.uids(t)), "no pod and no claim was made anew")
			for ordinal := range 2 {
				require.Equal(t, "3Gi", has(s.claim(t, ordinal)))
			}
			anew := s.set(t)
			require.Equal(t, "3Gi", template(anew))
			require.NotEqual(t, set.UID, anew.UID)
			require.True(t, metav1.IsControlledBy(s.pod(t, 0), anew), "the pod has the new set for its controller")
			s.eventuallyOwned(t, anew, retain)
			require.Equal(t, []string{
				v1alpha1.ReasonDone, v1alpha1.ReasonResizing, v1alpha1.ReasonFileSystemResizePending, v1alpha1.ReasonDone,
			}, told())

			s.change(t, `{"bookDB":{"replicas":3}}`)
			s.settle(t)
			require.Equal(t, "3Gi", asks(s.claim(t, 2)), "a new replica has the new size")
		})
	}
}

// TestGrowCosts counts what a growth takes: a request for each claim, and for the set the
// change that is refused, the dry run that shows why, the deletion and the creation.
func TestGrowCosts(t *testing.T) {
	s := newScene(t, start(t))
	mark := shared.Mark()
	s.grow(t, "3Gi")
	s.settle(t)
	counts := s.requests(t, mark)
	require.Equal(t, 2, counts["patch persistentvolumeclaims"], "%v", counts)
	require.Equal(t, 1, counts["delete statefulsets"], "%v", counts)
	require.LessOrEqual(t, counts["patch statefulsets"], 4, "%v", counts) // the change, the dry run, and the creation, which may meet the old one
	require.Zero(t, counts["delete pods"]+counts["patch deployments"]+counts["patch services"], "%v", counts)
}

func TestGrowTwiceInARow(t *testing.T) {
	s := newScene(t, start(t))
	before := s.uids(t)
	s.grow(t, "3Gi")
	s.grow(t, "4Gi")
	s.settle(t)
	require.Empty(t, cmp.Diff(before, s.uids(t)))
	require.Equal(t, "4Gi", template(s.set(t)))
	require.Equal(t, "4Gi", has(s.claim(t, 0)))
	require.Equal(t, "4Gi", has(s.claim(t, 1)))
}

// TestPodComesBack on the same claim, before and after it has grown.
func TestPodComesBack(t *testing.T) {
	s := newScene(t, start(t))
	claim := s.claim(t, 0).UID
	for _, size := range []string{"2Gi", "3Gi"} {
		s.grow(t, size)
		s.settle(t)
		old := s.pod(t, 0)
		require.NoError(t, human(t).Delete(t.Context(), old))
		s.waitForAnotherPod(t, 0, old.UID)
		s.settle(t)
		require.Equal(t, claim, s.claim(t, 0).UID)
		require.Equal(t, size, has(s.claim(t, 0)))
	}
}

// TestOffline has a driver that resizes no file system in use: the condition says which pod
// to restart.
func TestOffline(t *testing.T) {
	s := newScene(t, start(t))
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	s.grow(t, "3Gi")
	for _, ordinal := range []int{0, 1} {
		is := s.waitForMessage(t, v1alpha1.ReasonFileSystemResizePending, s.claimName(ordinal))
		pod := s.pod(t, ordinal)
		require.Contains(t, is.Message, `restart pod "`+pod.Name+`" to finish`)
		eventually(t, func(context.Context) error { return isTrue(s.store(t), v1alpha1.ReadyCondition) }) // it works
		require.NoError(t, human(t).Delete(t.Context(), pod))
		s.waitForAnotherPod(t, ordinal, pod.UID)
	}
	s.settle(t)
	require.Equal(t, "3Gi", has(s.claim(t, 1)))
}

// TestRestartForResize has the operator do that, one pod at a time and each once.
func TestRestartForResize(t *testing.T) {
	s := newScene(t, startWith(t, installed(t), "--restart-after=1s"), func(store *v1alpha1.BookStore) {
		store.Spec.BookDB.RestartForResize = true
	})
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	before := []*corev1.Pod{s.pod(t, 0), s.pod(t, 1)}
	claims := []types.UID{s.claim(t, 0).UID, s.claim(t, 1).UID}
	mark := shared.Mark()
	s.grow(t, "3Gi")
	s.settle(t)
	for ordinal := range 2 {
		require.NotEqual(t, before[ordinal].UID, s.pod(t, ordinal).UID)
		require.Equal(t, claims[ordinal], s.claim(t, ordinal).UID)
		require.Equal(t, "3Gi", has(s.claim(t, ordinal)))
	}
	require.Equal(t, 2, s.requests(t, mark)["delete pods"])
}

// TestNoRestart has pods that the operator must not restart, though it may: one whose claim
// would go with it.
func TestNoRestart(t *testing.T) {
	s := newScene(t, startWith(t, installed(t), "--restart-after=1s"), func(store *v1alpha1.BookStore) {
		store.Spec.BookDB.RestartForResize = true
		store.Spec.BookDB.Replicas = 1
	})
	storage.Settings{Nodes: storage.Offline}.Use(t, shared.Dir())
	require.NoError(t, human(t).Delete(t.Context(), s.claim(t, 0)))
	is := s.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonClaimTerminating)
	require.Contains(t, is.Message, `its data goes when pod "shop-mongodb-0" does`)

	pod := s.pod(t, 0)
	mark := shared.Mark()
	s.grow(t, "3Gi")
	eventually(t, func(ctx context.Context) error {
		var set appsv1.StatefulSet
		if err := human(t).Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name + "-mongodb"}, &set); err != nil {
			return err
		}
		return expect(template(&set) == "3Gi", "the set is not re-created")
	})
	s.reconcile(t)
	require.Equal(t, pod.UID, s.pod(t, 0).UID)
	require.Equal(t, "2Gi", asks(s.claim(t, 0)), "what goes is left alone")
	require.Zero(t, s.requests(t, mark)["delete pods"])

	// Whoever wants the data gone restarts the pod: it gets a new claim, of the new size.
	require.NoError(t, human(t).Delete(t.Context(), pod))
	s.waitForAnotherPod(t, 0, pod.UID)
	s.settle(t)
	require.Equal(t, "3Gi", has(s.claim(t, 0)))
}

// TestResizeFails has a resizer that says that it can never make a volume so large. The
// rest of the spec rolls out, nothing is tried in a loop, and what never came can be taken
// back, or grown into once the resizer can.
func TestResizeFails(t *testing.T) {
	process := start(t)
	for name, next := range map[string]func(*testing.T, scene) string{
		"less is asked for": func(t *testing.T, s scene) string {
			s.grow(t, "3Gi")
			return "3Gi"
		},
		"the resizer can": func(t *testing.T, _ scene) string {
			require.NoError(t, storage.Settings{}.Write(shared.Dir()))
			return "10Gi"
		},
		"more is asked for, and the resizer can": func(t *testing.T, s scene) string {
			s.grow(t, "20Gi")
			s.waitForMessage(t, v1alpha1.ReasonResizeFailed, "20Gi")
			require.NoError(t, storage.Settings{}.Write(shared.Dir()))
			return "20Gi"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, process)
			storage.Settings{Failures: []storage.Failure{{Above: size("5Gi"), Code: outOfRange}}}.Use(t, shared.Dir())
			before := s.uids(t)
			s.grow(t, "10Gi")
			is := s.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonResizeFailed)
			require.Contains(t, is.Message, "as large as 10Gi")
			require.Empty(t, cmp.Diff(before, s.uids(t)))

			s.change(t, `{"bookApp":{"tag":"v2"},"bookDB":{"port":27018}}`)
			s.settleFor(t, v1alpha1.ReasonResizeFailed)
			require.Equal(t, "akash125/pyapp:v2", s.app(t).Spec.Template.Spec.Containers[0].Image)
			require.Contains(t, s.pod(t, 0).Spec.Containers[0].Args, "--port=27018")

			claims := []types.UID{s.claim(t, 0).UID, s.claim(t, 1).UID}
			want := next(t, s)
			s.settle(t)
			for ordinal := range 2 {
				require.Equal(t, want, has(s.claim(t, ordinal)))
				require.Equal(t, claims[ordinal], s.claim(t, ordinal).UID)
			}
			require.Equal(t, want, template(s.set(t)))
		})
	}
}

// TestRefused has sizes that no volume can have: nothing is written for them, the rest of
// the spec rolls out, and it is over once the size is as it was.
func TestRefused(t *testing.T) {
	process := start(t)
	for name, test := range map[string]struct {
		class        string
		size, reason string
		message      string
	}{
		"shrinking":                  {storage.ExpandableClass, "1Gi", v1alpha1.ReasonShrinkingRefused, "no volume can become smaller"},
		"class that cannot expand":   {storage.FixedClass, "3Gi", v1alpha1.ReasonClassCannotExpand, `StorageClass "fixed" does not allow`},
		"shrinking, in such a class": {storage.FixedClass, "1Gi", v1alpha1.ReasonShrinkingRefused, "no volume can become smaller"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, process, func(store *v1alpha1.BookStore) { store.Spec.BookDB.StorageClassName = &test.class })
			before, set := s.uids(t), s.set(t)
			mark := shared.Mark()
			s.grow(t, test.size)
			is := s.waitForReason(t, v1alpha1.VolumeResizedCondition, test.reason)
			require.Contains(t, is.Message, test.message)
			require.Contains(t, is.Message, s.claimName(0))
			s.settleFor(t, test.reason)
			require.Empty(t, s.requests(t, mark))

			s.change(t, `{"bookApp":{"tag":"v2"},"bookDB":{"replicas":3}}`)
			s.settleFor(t, test.reason)
			require.Equal(t, "akash125/pyapp:v2", s.app(t).Spec.Template.Spec.Containers[0].Image)
			require.Equal(t, "2Gi", asks(s.claim(t, 2)), "as large as the others")
			require.Empty(t, cmp.Diff(before, s.uids(t)))
			require.Equal(t, set.UID, s.set(t).UID)

			s.grow(t, "2Gi")
			s.settle(t)
			require.Equal(t, set.UID, s.set(t).UID)
		})
	}
}

// TestForeignClaim has somebody else's claim under the name of one of the database's: no pod
// takes it, nothing is written to it, and the database goes on when it is gone.
func TestForeignClaim(t *testing.T) {
	s := emptyScene(t, start(t))
	stranger := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.claimName(1), Labels: map[string]string{"app": "other"}},
		Spec:       s.claimSpec("1Gi"),
	}
	require.NoError(t, human(t).Create(t.Context(), stranger))
	s.create(t)
	is := s.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonForeignClaim)
	require.Contains(t, is.Message, s.claimName(1))
	eventually(t, func(context.Context) error {
		return expect(s.set(t).Status.ReadyReplicas == 1, "the first database does not run")
	})
	require.EqualValues(t, 1, *s.set(t).Spec.Replicas)

	bound := s.claim(t, 1)
	s.grow(t, "3Gi")
	eventually(t, func(context.Context) error {
		return expect(has(s.claim(t, 0)) == "3Gi", "the database's own does not grow")
	})
	s.settleFor(t, v1alpha1.ReasonForeignClaim)
	require.Empty(t, cmp.Diff(bound, s.claim(t, 1)), "the stranger's is as it was")

	require.NoError(t, human(t).Delete(t.Context(), stranger))
	s.settle(t)
	require.Equal(t, "3Gi", has(s.claim(t, 1)))
	require.EqualValues(t, 2, *s.set(t).Spec.Replicas)
}

// TestForeignPod has a pod that is not the database's mount a claim that is.
func TestForeignPod(t *testing.T) {
	s := newScene(t, start(t))
	s.change(t, `{"bookDB":{"replicas":1}}`)
	s.waitUntilGone(t, "shop-mongodb-1", &corev1.Pod{})
	stranger := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "backup"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "backup", Image: "backup"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.claimName(1)},
			}}},
		},
	}
	require.NoError(t, human(t).Create(t.Context(), stranger))
	s.grow(t, "3Gi")
	s.settle(t)
	require.Equal(t, "3Gi", has(s.claim(t, 0)))
	require.Equal(t, "2Gi", asks(s.claim(t, 1)), "what a stranger mounts is left alone")

	require.NoError(t, human(t).Delete(t.Context(), stranger))
	s.waitUntilGone(t, "backup", &corev1.Pod{})
	eventually(t, func(context.Context) error {
		return expect(asks(s.claim(t, 1)) == "3Gi", "what an earlier replica left does not grow")
	})
}

// TestHandGrown leaves a claim alone that somebody made larger than asked for.
func TestHandGrown(t *testing.T) {
	s := newScene(t, start(t))
	s.patch(t, s.claim(t, 0), `{"spec":{"resources":{"requests":{"storage":"5Gi"}}}}`)
	eventually(t, func(context.Context) error { return expect(has(s.claim(t, 0)) == "5Gi", "it does not grow") })
	s.settle(t)
	s.grow(t, "3Gi")
	s.settle(t)
	require.Equal(t, "5Gi", asks(s.claim(t, 0)))
	require.Equal(t, "3Gi", has(s.claim(t, 1)))
}

// eventuallyOwned waits until the claims are the set's, or are not, as the policy says.
func (s scene) eventuallyOwned(t *testing.T, set *appsv1.StatefulSet, retain bool) {
	t.Helper()
	eventually(t, func(context.Context) error {
		owners := s.claim(t, 0).OwnerReferences
		return expect(retain && len(owners) == 0 || !retain && len(owners) == 1 && owners[0].UID == set.UID,
			"the owners of the claim are %v", owners)
	})
}

func (s scene) waitForAnotherPod(t *testing.T, ordinal int, than types.UID) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var pod corev1.Pod
		key := client.ObjectKey{Namespace: s.namespace, Name: s.podName(ordinal)}
		if err := human(t).Get(ctx, key, &pod); err != nil {
			return err
		}
		return expect(pod.UID != than && pod.Status.Phase == corev1.PodRunning, "pod %s does not run anew", pod.Name)
	})
}
