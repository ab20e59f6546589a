package story

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// The BookStore of the operator's sample, its children, and the objects that the StatefulSet
// creates.
const (
	storeSample = "examples/bookstore/config/samples/blog_v1alpha1_bookstore.yaml"
	store       = "example-bookstore"
	shop        = store + "-app"     // the Deployment and its Service
	mongo       = store + "-mongodb" // the StatefulSet and its Service
	mongoPod    = mongo + "-0"
	mongoClaim  = "mongodb-pvc-" + mongoPod
)

// bookStore is the story of data that outlives pods, and of volumes that grow.
type bookStore struct{ *story }

// BookStore tells of a database and of an app that uses the database, in a cluster with storage.
func BookStore(ctx context.Context, env Env) (Summary, error) {
	s := bookStore{&story{Env: env, mainObject: mainObject{
		kind: "BookStore", name: store, work: "children", makes: "object", deployment: shop,
		blank:      func() client.Object { return &v1alpha1.BookStore{} },
		conditions: func(obj client.Object) []metav1.Condition { return obj.(*v1alpha1.BookStore).Status.Conditions },
	}}}
	watched := []client.ObjectList{
		&v1alpha1.BookStoreList{}, &appsv1.StatefulSetList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.PodList{},
	}
	return s.tell(ctx, watched,
		s.created, s.restarted, s.grown, s.grownOffline, s.grownByItself, s.shrunk, s.reconcileUnchanged, s.deleted)
}

func (s bookStore) created(ctx context.Context) error {
	s.title("A BookStore is created.")
	began := s.now(ctx)
	if err := s.run(ctx, "apply", "-f", storeSample); err != nil {
		return err
	}
	var children []loggedEvent
	err := s.expect(ctx, "a database and an app", func(context.Context) (string, bool) {
		pages := began.seen()
		found := []int{
			find(pages, mongo, added[*corev1.Service]), find(pages, mongo, added[*appsv1.StatefulSet]),
			find(pages, shop, added[*appsv1.Deployment]), find(pages, shop, added[*corev1.Service]),
		}
		missing := missing(found, "Service of the database", "StatefulSet", "Deployment", "Service of the app")
		if missing != "" {
			return "no " + missing, false
		}
		children = nil
		for _, i := range found {
			children = append(children, pages[i])
		}
		return "", true
	})
	if err != nil {
		return err
	}
	for i, child := range children[1:] {
		if !isBefore(children[i], child) {
			return fmt.Errorf("expected the database before the app, and each Service in its place; seen: %T %s before %T %s",
				child.object, child.object.GetName(), children[i].object, children[i].object.GetName())
		}
	}
	s.fact("seen", fmt.Sprintf("Service and StatefulSet %s, then Deployment and Service %s", mongo, shop))
	if err := s.volumeBecomes(ctx, metav1.ConditionTrue, v1alpha1.ReasonDone); err != nil {
		return err
	}
	if err := s.tellRest(ctx, began); err != nil {
		return err
	}
	s.tellTurns(began)
	return nil
}

func (s bookStore) restarted(ctx context.Context) error {
	s.title("Somebody deletes the database's pod.")
	began := s.now(ctx)
	if err := s.restart(ctx, "delete", "pod", mongoPod); err != nil {
		return err
	}
	s.tellTurns(began)
	return s.tellRequests(ctx, began)
}

func (s bookStore) grown(ctx context.Context) error {
	s.title("The database gets 3Gi. No StatefulSet can be changed so: it is made anew around its pod.")
	began := s.now(ctx)
	if err := s.grow(ctx, "3Gi"); err != nil {
		return err
	}
	if err := s.volumeBecomes(ctx, metav1.ConditionTrue, v1alpha1.ReasonDone); err != nil {
		return err
	}
	if err := s.tellRest(ctx, began); err != nil {
		return err
	}
	s.tellTurns(began)
	return s.claimHas(ctx, "3Gi")
}

func (s bookStore) grownOffline(ctx context.Context) error {
	s.title("It gets 4Gi from a driver that resizes no file system in use. Somebody restarts the pod.")
	return s.growOffline(ctx, "4Gi", "delete", "pod", mongoPod)
}

func (s bookStore) grownByItself(ctx context.Context) error {
	s.title("It gets 5Gi in the same way. The operator is allowed to restart the pod, which it does after a second here.")
	return s.growOffline(ctx, "5Gi", s.patch(`{"spec":{"bookDB":{"restartForResize":true}}}`)...)
}

// growOffline grows the volume to that size, and the file system once kubectl has been run with
// restart, which has to replace the pod.
func (s bookStore) growOffline(ctx context.Context, size string, restart ...string) (err error) {
	s.say("   # storage: nodes %s", storage.Offline)
	if err := (storage.Settings{Nodes: storage.Offline}).Write(s.Own.Dir()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, storage.Settings{}.Write(s.Own.Dir())) }()
	began := s.now(ctx)
	if err := s.grow(ctx, size); err != nil {
		return err
	}
	if err := s.volumeBecomes(ctx, metav1.ConditionFalse, v1alpha1.ReasonFileSystemResizePending); err != nil {
		return err
	}
	if _, err := s.settled(ctx, began); err != nil {
		return err
	}
	if err := s.restart(ctx, restart...); err != nil {
		return err
	}
	if err := s.volumeBecomes(ctx, metav1.ConditionTrue, v1alpha1.ReasonDone); err != nil {
		return err
	}
	if err := s.tellRest(ctx, began); err != nil {
		return err
	}
	s.tellTurns(began)
	return s.claimHas(ctx, size)
}

func (s bookStore) shrunk(ctx context.Context) error {
	s.title("It is to have 4Gi again, which no volume can, and the app gets another tag. Then the size is taken back.")
	began := s.now(ctx)
	if err := s.change(ctx, `{"spec":{"bookDB":{"dbSize":"4Gi"},"bookApp":{"tag":"v2"}}}`); err != nil {
		return err
	}
	if err := s.volumeBecomes(ctx, metav1.ConditionFalse, v1alpha1.ReasonShrinkingRefused); err != nil {
		return err
	}
	if err := s.tellRest(ctx, began); err != nil {
		return err
	}
	i := find(began.seen(), shop, func(_ watch.EventType, d *appsv1.Deployment) bool { return strings.HasSuffix(imageOf(d), ":v2") })
	if i < 0 {
		return errors.New("expected the app's new tag; seen: the Deployment as it was")
	}
	s.fact("seen", "the app's new tag rolled out")
	if err := s.change(ctx, `{"spec":{"bookDB":{"dbSize":"5Gi"}}}`); err != nil {
		return err
	}
	if err := s.volumeBecomes(ctx, metav1.ConditionTrue, v1alpha1.ReasonDone); err != nil {
		return err
	}
	s.tellTurns(began)
	return s.claimHas(ctx, "5Gi")
}

func (s bookStore) deleted(ctx context.Context) error {
	s.title("The BookStore is deleted. Its children go with it, the data stays.")
	began := s.now(ctx)
	before, err := s.uids(ctx)
	if err != nil {
		return err
	}
	if err := s.run(ctx, "delete", "bookstore", store); err != nil {
		return err
	}
	var first, end loggedEvent
	err = s.expect(ctx, "the BookStore to be gone, its children and their pods", func(context.Context) (string, bool) {
		pages := began.seen()
		ends := []int{
			find(pages, store, gone[*v1alpha1.BookStore]), find(pages, mongo, gone[*appsv1.StatefulSet]),
			find(pages, mongo, gone[*corev1.Service]), find(pages, shop, gone[*appsv1.Deployment]),
			find(pages, shop, gone[*corev1.Service]), find(pages, mongoPod, gone[*corev1.Pod]),
			last(pages, func(event watch.EventType, pod *corev1.Pod) bool {
				return event == watch.Deleted && pod.Labels["app"] == shop
			}),
		}
		missing := missing(ends, "end of the BookStore", "end of the StatefulSet", "end of its Service", "end of the Deployment",
			"end of its Service", "end of the database's pod", "end of the app's pod")
		if missing != "" {
			return "no " + missing, false
		}
		first, end = pages[ends[0]], pages[len(pages)-1]
		return "", true
	})
	if err != nil {
		return err
	}
	s.fact("seen", fmt.Sprintf("all children and their pods gone %s after it", took(first, end)))
	claim := &corev1.PersistentVolumeClaim{}
	if err := s.get(ctx, mongoClaim, claim); err != nil {
		return err
	}
	if claim.UID != before.claim || claim.DeletionTimestamp != nil {
		return fmt.Errorf("expected the claim to stay as it was; seen: UID %s, before that %s, deleted %v",
			claim.UID, before.claim, claim.DeletionTimestamp)
	}
	s.fact("seen", "the same claim, still there")
	return s.tellRequests(ctx, began)
}

// grow asks for that size and waits until the StatefulSet does, which is another one then,
// around the same pod.
func (s bookStore) grow(ctx context.Context, size string) error {
	before, err := s.uids(ctx)
	if err != nil {
		return err
	}
	if err := s.change(ctx, fmt.Sprintf(`{"spec":{"bookDB":{"dbSize":%q}}}`, size)); err != nil {
		return err
	}
	err = s.expect(ctx, "another StatefulSet, for volumes of "+size, func(ctx context.Context) (string, bool) {
		set, pod := &appsv1.StatefulSet{}, &corev1.Pod{}
		if err := errors.Join(s.get(ctx, mongo, set), s.get(ctx, mongoPod, pod)); err != nil {
			return err.Error(), false
		}
		template := sizeOf(set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests)
		return fmt.Sprintf("one for %s, with UID %s before and %s now", template, before.set, set.UID),
			template == size && set.UID != before.set && metav1.IsControlledBy(pod, set) && set.Status.ReadyReplicas == 1
	})
	if err != nil {
		return err
	}
	after, err := s.uids(ctx)
	if err != nil {
		return err
	}
	if after.pod != before.pod || after.claim != before.claim {
		return fmt.Errorf("expected the same pod and the same claim; seen: %+v, before that %+v", after, before)
	}
	s.fact("seen", "another StatefulSet, around the same pod and the same claim")
	return nil
}

// restart runs kubectl with args and waits until the database has another pod that is ready,
// on the same claim.
func (s bookStore) restart(ctx context.Context, args ...string) error {
	before, err := s.uids(ctx)
	if err != nil {
		return err
	}
	began := s.now(ctx)
	if err := s.run(ctx, args...); err != nil {
		return err
	}
	err = s.expect(ctx, "another pod that is ready", func(context.Context) (string, bool) {
		pages := began.seen()
		i := find(pages, mongo, func(_ watch.EventType, set *appsv1.StatefulSet) bool { return set.Status.ReadyReplicas == 0 })
		if i < 0 {
			return "the old one", false
		}
		j := find(pages[i:], mongo, func(_ watch.EventType, set *appsv1.StatefulSet) bool { return set.Status.ReadyReplicas == 1 })
		return "none that is", j >= 0
	})
	if err != nil {
		return err
	}
	if _, err := s.becomes(ctx, v1alpha1.ReadyCondition, metav1.ConditionTrue, "Ready"); err != nil {
		return err
	}
	after, err := s.uids(ctx)
	if err != nil {
		return err
	}
	if after.pod == before.pod || after.claim != before.claim {
		return fmt.Errorf("expected another pod and the same claim; seen: %+v, before that %+v", after, before)
	}
	s.fact("seen", "another pod, on the same claim")
	return nil
}

// tellTurns reports the changes of the conditions.
func (s bookStore) tellTurns(began checkpoint) {
	s.fact("Ready", s.turnsOf(began.seen(), v1alpha1.ReadyCondition))
	s.fact("volume", s.turnsOf(began.seen(), v1alpha1.VolumeResizedCondition))
}

// volumeBecomes waits until VolumeResized has this status, and reports the reason if the status is
// False.
func (s bookStore) volumeBecomes(ctx context.Context, status metav1.ConditionStatus, reason string) error {
	is, err := s.becomes(ctx, v1alpha1.VolumeResizedCondition, status, reason)
	if err == nil && status == metav1.ConditionFalse {
		s.fact("volume", fmt.Sprintf("%s, %s: %s", is.Status, is.Reason, is.Message))
	}
	return err
}

func (s bookStore) claimHas(ctx context.Context, size string) error {
	claim := &corev1.PersistentVolumeClaim{}
	if err := s.get(ctx, mongoClaim, claim); err != nil {
		return err
	}
	if has := sizeOf(claim.Status.Capacity); has != size {
		return fmt.Errorf("expected a claim that has %s; seen: %s", size, has)
	}
	s.fact("claim", "has "+size)
	return nil
}

// uids identify the database's objects, even if other objects get the same names.
type uids struct{ set, pod, claim types.UID }

func (s bookStore) uids(ctx context.Context) (uids, error) {
	set, pod, claim := &appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
	err := errors.Join(s.get(ctx, mongo, set), s.get(ctx, mongoPod, pod), s.get(ctx, mongoClaim, claim))
	return uids{set: set.UID, pod: pod.UID, claim: claim.UID}, err
}

func (s bookStore) get(ctx context.Context, name string, obj client.Object) error {
	return s.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, obj)
}

func (s bookStore) change(ctx context.Context, patch string) error {
	return s.run(ctx, s.patch(patch)...)
}

func (s bookStore) patch(patch string) []string {
	return []string{"patch", "bookstore", store, "--type=merge", "--patch", patch}
}

func sizeOf(resources corev1.ResourceList) string {
	size := resources[corev1.ResourceStorage]
	return size.String()
}
