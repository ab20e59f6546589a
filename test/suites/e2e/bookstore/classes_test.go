package bookstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/storage"
)

func ofClass(name string) func(*v1alpha1.BookStore) {
	return func(store *v1alpha1.BookStore) { store.Spec.BookDB.StorageClassName = &name }
}

// TestMissingClass has a BookStore with a StorageClass that does not exist, and corrects it.
func TestMissingClass(t *testing.T) {
	process := start(t)
	for name, correction := range map[string]string{"another class": `"` + storage.FixedClass + `"`, "the default class": "null"} {
		for policy, retain := range map[string]bool{"retained": true, "not retained": false} {
			t.Run(name+", "+policy, func(t *testing.T) {
				t.Parallel()
				f := newEmptyFixture(t, process)
				f.create(t, ofClass("fsat"), retaining(retain))
				is := f.waitForMessage(t, v1alpha1.ReasonClassMissing, `StorageClass "fsat" does not exist`)
				require.Contains(t, is.Message, f.claimName(0))
				wrong := f.claim(t, 0)
				f.change(t, `{"bookDB":{"storageClassName":`+correction+`}}`)
				f.settle(t)
				require.NotEqual(t, wrong.UID, f.claim(t, 0).UID)
				require.NotEqual(t, "fsat", *f.claim(t, 0).Spec.StorageClassName)
			})
		}
	}
}

// TestMissingClassComes creates the class that was missing. The claims stay, and get their volumes.
func TestMissingClassComes(t *testing.T) {
	f := newEmptyFixture(t, start(t))
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "late-" + f.namespace}}
	expandable := &storagev1.StorageClass{}
	get(t, fixture{}, storage.ExpandableClass, expandable)
	class.Provisioner, class.VolumeBindingMode = expandable.Provisioner, expandable.VolumeBindingMode
	f.create(t, ofClass(class.Name))
	f.waitForReason(t, v1alpha1.VolumeResizedCondition, v1alpha1.ReasonClassMissing)
	claim := f.claim(t, 0)
	require.NoError(t, admin(t).Create(t.Context(), class))
	f.settle(t)
	require.Equal(t, claim.UID, f.claim(t, 0).UID)
	require.NoError(t, admin(t).Delete(t.Context(), class))
}

// TestFixedClass changes the class of a BookStore with volumes, which keep theirs. A new volume gets the new class.
func TestFixedClass(t *testing.T) {
	f := newFixture(t, start(t), ofClass(storage.FixedClass))
	before := f.uids(t)
	f.change(t, `{"bookDB":{"storageClassName":"`+storage.ExpandableClass+`","replicas":3}}`)
	f.settle(t)
	require.Equal(t, before, f.uids(t))
	require.Equal(t, storage.ExpandableClass, *f.claim(t, 2).Spec.StorageClassName)
	message := condition(f.store(t), v1alpha1.VolumeResizedCondition).Message
	require.Contains(t, message, `claim "`+f.claimName(0)+`" keeps StorageClass "fixed"`)
	require.NotContains(t, message, f.claimName(2))
}

// TestReuse has a BookStore that uses the volumes of a former one, and says so.
func TestReuse(t *testing.T) {
	process := start(t)
	f := newFixture(t, process)
	reused := func() []string { return tests.Notes(t, f.namespace, f.name, corev1.EventTypeNormal, "VolumesReused") }
	f.grow(t, "3Gi") // recreates the StatefulSet
	f.settle(t)
	require.Empty(t, reused(), "these are its own")
	f.delete(t)
	f.waitUntilGone(t, f.name, f.named())
	f.create(t, func(store *v1alpha1.BookStore) { store.Spec.BookDB.DBSize = size("3Gi") })
	f.settle(t)
	eventually(t, func(context.Context) error {
		notes := strings.Join(reused(), "\n")
		return expect(strings.Contains(notes, f.claimName(1)) && strings.Contains(notes, "retain: false"), "events: %s", notes)
	})
}

// TestFormerImage corrects the image of a database whose pod never became ready: the StatefulSet does not replace the pod,
// and the message has the command that does.
func TestFormerImage(t *testing.T) {
	f := newEmptyFixture(t, start(t))
	f.create(t, func(store *v1alpha1.BookStore) { store.Spec.BookDB.Tag, store.Spec.BookDB.Replicas = "missing", 1 })
	is := f.waitForReason(t, v1alpha1.DatabaseReadyCondition, "ImagePullBackOff")
	require.NotContains(t, is.Message, "kubectl")
	f.change(t, `{"bookDB":{"tag":"8.0"}}`)
	eventually(t, func(context.Context) error {
		is = condition(f.store(t), v1alpha1.DatabaseReadyCondition)
		return expect(strings.Contains(is.Message, "kubectl delete pod -n "+f.namespace+" shop-mongodb-0"), "seen %+v", is)
	})
	kubectl(t, "delete", "pod", "-n", f.namespace, "shop-mongodb-0")
	f.settle(t)
	require.Equal(t, "mongo:8.0", f.pod(t, 0).Spec.Containers[0].Image)
}
