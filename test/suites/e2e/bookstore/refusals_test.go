package bookstore_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// TestResizeFails has a resizer that reports a size as infeasible. The rest of the spec rolls out,
// and nothing is retried in a loop. The refused size can be taken back, or reached once the resizer
// supports it.
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

// TestRefused asks for impossible volume sizes: nothing is written for them, the rest of the spec
// rolls out, and the condition clears once the size is restored.
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

// TestTakeBackHalf takes back a growth that a quota stopped after the first claim.
func TestTakeBackHalf(t *testing.T) {
	s := newScene(t, startFailing(t, installed(t), ": Forbidden"))
	storage.Settings{Failures: []storage.Failure{{Above: size("5Gi"), Code: outOfRange}}}.Use(t, shared.Dir())
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "storage"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsStorage: size("13Gi")}},
	}
	require.NoError(t, human(t).Create(t.Context(), quota))
	eventually(t, func(ctx context.Context) error {
		if err := human(t).Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		used := quota.Status.Used[corev1.ResourceRequestsStorage]
		return expect(used.String() == "4Gi", "used %s", used.String())
	})
	s.grow(t, "10Gi")
	s.waitForReason(t, v1alpha1.VolumeResizedCondition, "Forbidden")
	require.Equal(t, "10Gi", asks(s.claim(t, 0)))
	s.grow(t, "3Gi")
	s.settle(t)
	require.Equal(t, "3Gi", asks(s.claim(t, 0)))
}
