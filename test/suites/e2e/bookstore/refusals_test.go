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
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// TestResizeFails has a resizer that reports a size as infeasible. The rest of the spec rolls out,
// and nothing is retried in a loop. The refused size can be taken back, or reached once the resizer
// supports it.
func TestResizeFails(t *testing.T) {
	process := start(t)
	for name, next := range map[string]func(*testing.T, fixture) string{
		"less is asked for": func(t *testing.T, f fixture) string {
			f.grow(t, "3Gi")
			return "3Gi"
		},
		"the resizer can": func(t *testing.T, _ fixture) string {
			require.NoError(t, storage.Settings{}.Write(shared.Dir()))
			return "10Gi"
		},
		"more is asked for, and the resizer can": func(t *testing.T, f fixture) string {
			f.grow(t, "20Gi")
			f.waitForMessage(t, v1alpha1.ReasonResizeFailed, "20Gi")
			require.NoError(t, storage.Settings{}.Write(shared.Dir()))
			return "20Gi"
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, process)
			storage.Settings{Failures: []storage.Failure{{Above: size("5Gi"), Code: outOfRange}}}.Use(t, shared.Dir())
			before := f.uids(t)
			f.grow(t, "10Gi")
			is := f.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonResizeFailed)
			require.Contains(t, is.Message, "as large as 10Gi")
			require.Empty(t, cmp.Diff(before, f.uids(t)))

			f.change(t, `{"bookApp":{"tag":"v2"},"bookDB":{"port":27018}}`)
			f.settleFor(t, v1alpha1.ReasonResizeFailed)
			require.Equal(t, "akash125/pyapp:v2", f.app(t).Spec.Template.Spec.Containers[0].Image)
			require.Contains(t, f.pod(t, 0).Spec.Containers[0].Args, "--port=27018")

			claims := []types.UID{f.claim(t, 0).UID, f.claim(t, 1).UID}
			want := next(t, f)
			f.settle(t)
			for ordinal := range 2 {
				require.Equal(t, want, has(f.claim(t, ordinal)))
				require.Equal(t, claims[ordinal], f.claim(t, ordinal).UID)
			}
			require.Equal(t, want, template(f.set(t)))
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
			f := newFixture(t, process, func(store *v1alpha1.BookStore) { store.Spec.BookDB.StorageClassName = &test.class })
			before, set := f.uids(t), f.set(t)
			mark := shared.Mark()
			f.grow(t, test.size)
			is := f.waitForReason(t, v1alpha1.VolumeResizedCondition, test.reason)
			require.Contains(t, is.Message, test.message)
			require.Contains(t, is.Message, f.claimName(0))
			f.settleFor(t, test.reason)
			require.Empty(t, f.requests(t, mark))

			f.change(t, `{"bookApp":{"tag":"v2"},"bookDB":{"replicas":3}}`)
			f.settleFor(t, test.reason)
			require.Equal(t, "akash125/pyapp:v2", f.app(t).Spec.Template.Spec.Containers[0].Image)
			require.Equal(t, "2Gi", asks(f.claim(t, 2)), "as large as the others")
			require.Empty(t, cmp.Diff(before, f.uids(t)))
			require.Equal(t, set.UID, f.set(t).UID)

			f.grow(t, "2Gi")
			f.settle(t)
			require.Equal(t, set.UID, f.set(t).UID)
		})
	}
}

// TestTakeBackHalf takes back a growth that a quota stopped after the first claim.
func TestTakeBackHalf(t *testing.T) {
	longform.Only(t)
	f := newFixture(t, startFailing(t, installed(t), ": Forbidden"))
	storage.Settings{Failures: []storage.Failure{{Above: size("5Gi"), Code: outOfRange}}}.Use(t, shared.Dir())
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "storage"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsStorage: size("13Gi")}},
	}
	require.NoError(t, admin(t).Create(t.Context(), quota))
	eventually(t, func(ctx context.Context) error {
		if err := admin(t).Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		used := quota.Status.Used[corev1.ResourceRequestsStorage]
		return expect(used.String() == "4Gi", "used %s", used.String())
	})
	f.grow(t, "10Gi")
	f.waitForReason(t, v1alpha1.VolumeResizedCondition, "Forbidden")
	require.Equal(t, "10Gi", asks(f.claim(t, 0)))
	f.grow(t, "3Gi")
	f.settle(t)
	require.Equal(t, "3Gi", asks(f.claim(t, 0)))
}
