package bookstore_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestWhyNotReady has pods that do not start. The conditions of the database and of the app say why, and one
// event reports each failure.
func TestWhyNotReady(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"images":       testImages,
		"quota":        testQuota,
		"pod security": testPodSecurity,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

func testImages(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	f.create(t, func(store *v1alpha1.BookStore) { store.Spec.BookDB.Tag, store.Spec.BookApp.Tag = "missing", "crashing" })
	message := f.waitForReason(t, v1alpha1.DatabaseReadyCondition, "ImagePullBackOff").Message
	require.Contains(t, message, `StatefulSet "shop-mongodb": pod "shop-mongodb-0": container mongodb waits`)
	message = f.waitForReason(t, v1alpha1.AppReadyCondition, "CrashLoopBackOff").Message
	require.Contains(t, message, `Deployment "shop-app": pod "shop-app-`)
	f.waitForReason(t, v1alpha1.ReadyCondition, "ImagePullBackOff")
	f.reconcile(t)
	f.waitForWarnings(t, "CrashLoopBackOff", "ImagePullBackOff")

	f.change(t, `{"bookApp":{"tag":"v2"},"bookDB":{"tag":"v2"}}`)
	eventually(t, func(context.Context) error {
		set := f.set(t)
		image := set.Spec.Template.Spec.Containers[0].Image
		return expect(strings.HasSuffix(image, ":v2") && set.Status.ObservedGeneration == set.Generation,
			"its controller would make the pod as it was")
	})
	require.NoError(t, admin(t).Delete(t.Context(), f.pod(t, 0)))
	f.settle(t)
	f.waitForWarnings(t, "CrashLoopBackOff", "ImagePullBackOff")

	// The same failure within an hour is no news, also after a success.
	f.change(t, `{"bookApp":{"tag":"crashing"}}`)
	f.waitForReason(t, v1alpha1.AppReadyCondition, "CrashLoopBackOff")
	f.reconcile(t)
	f.waitForWarnings(t, "CrashLoopBackOff", "ImagePullBackOff")
}

// testQuota has a quota refuse the pods, and then the second pod only. Only events of the StatefulSet have the
// API server's sentence.
func testQuota(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	quota := tests.RefusePods(t, f.namespace)
	f.create(t)
	for _, kind := range []string{v1alpha1.DatabaseReadyCondition, v1alpha1.AppReadyCondition, v1alpha1.ReadyCondition} {
		require.Contains(t, f.waitForReason(t, kind, "FailedCreate").Message, "exceeded quota: none", kind)
	}
	eventually(t, func(context.Context) error {
		warnings := strings.Join(f.warnings(t, "FailedCreate"), "\n")
		return expect(strings.Count(warnings, `StatefulSet "shop-mongodb": `) == 1 && strings.Count(warnings, `Deployment "shop-app": `) == 1,
			"not one of each: %s", warnings)
	})
	require.NoError(t, admin(t).Delete(t.Context(), quota))
	f.settle(t)

	// The events are still there and are no longer current.
	require.NotEmpty(t, f.refusals(t))
	f.change(t, `{"bookDB":{"tag":"pending"}}`)
	require.NotContains(t, f.waitForReason(t, v1alpha1.DatabaseReadyCondition, "InProgress").Message, "exceeded quota")
	require.NotContains(t, condition(f.store(t), v1alpha1.ReadyCondition).Message, "exceeded quota")
}

// refusals returns the events of the StatefulSet whose pods were refused.
func (f fixture) refusals(t *testing.T) []corev1.Event {
	t.Helper()
	var list corev1.EventList
	require.NoError(t, admin(t).List(t.Context(), &list, client.InNamespace(f.namespace),
		client.MatchingFields{"involvedObject.kind": "StatefulSet", "reason": "FailedCreate", "type": "Warning"}))
	return list.Items
}

// testPodSecurity has a namespace refuse the pods of the default templates.
func testPodSecurity(t *testing.T, process *operator.Process) {
	f := newEmptyFixture(t, process)
	tests.EnforceRestricted(t, f.namespace)
	f.create(t)
	for _, kind := range []string{v1alpha1.DatabaseReadyCondition, v1alpha1.AppReadyCondition, v1alpha1.ReadyCondition} {
		require.Contains(t, f.waitForReason(t, kind, "FailedCreate").Message, `violates PodSecurity "restricted:latest"`, kind)
	}
	eventually(t, func(context.Context) error {
		warnings := strings.Join(f.warnings(t, "FailedCreate"), "\n")
		return expect(strings.Contains(warnings, `StatefulSet "shop-mongodb": `) &&
			strings.Contains(warnings, `violates PodSecurity "restricted:latest"`), "%s", warnings)
	})

	// Only an event tells of another refusal.
	f.reconcile(t)
	set, other := f.set(t), "create Pod shop-mongodb-0 in StatefulSet shop-mongodb failed error: out of stamps"
	require.NoError(t, admin(t).Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: f.namespace, Name: "another"},
		InvolvedObject: corev1.ObjectReference{Kind: "StatefulSet", Namespace: f.namespace, Name: set.Name, UID: set.UID},
		Type:           corev1.EventTypeWarning, Reason: "FailedCreate", Message: other,
		LastTimestamp: metav1.NewTime(time.Now().Add(time.Hour)), // none of the controller is later
	}))
	eventually(t, func(context.Context) error {
		is := condition(f.store(t), v1alpha1.DatabaseReadyCondition)
		return expect(strings.Contains(is.Message, other), "%+v", is)
	})
}

// TestUnschedulable has pods for which there is no node.
func TestUnschedulable(t *testing.T) {
	longform.Only(t)
	d := newTemplateDir(t)
	for _, file := range []string{databaseFile, "app.yaml"} {
		d.Override(t, file, "      containers:\n", "      nodeSelector: {zone: nowhere}\n      containers:\n")
	}
	f := d.newEmptyFixture(t)
	f.create(t)
	for _, kind := range []string{v1alpha1.DatabaseReadyCondition, v1alpha1.AppReadyCondition} {
		require.Contains(t, f.waitForReason(t, kind, "Unschedulable").Message, "nodes are available", kind)
	}
	require.Contains(t, condition(f.store(t), v1alpha1.DatabaseReadyCondition).Message, `pod "shop-mongodb-0"`)
	eventually(t, func(context.Context) error {
		warnings := strings.Join(f.warnings(t, "Unschedulable"), "\n")
		return expect(strings.Contains(warnings, "StatefulSet") && strings.Contains(warnings, "Deployment"), "%s", warnings)
	})
}

// TestRestricted uses the templates for namespaces that enforce the pod security standard restricted.
// TestWhyNotReady shows that such a namespace refuses the default pods.
func TestRestricted(t *testing.T) {
	longform.Only(t)
	o := installed(t)
	f := newEmptyFixture(t, startWith(t, o, "--templates", filepath.Join(o.Dir, "config", "templates", "restricted")))
	tests.EnforceRestricted(t, f.namespace)
	f.create(t)
	f.settle(t)
	require.EqualValues(t, 999, *f.pod(t, 0).Spec.SecurityContext.FSGroup)
	f.waitForWarnings(t)
}

// waitForWarnings waits until events warn of the BookStore for these reasons and no others.
func (f fixture) waitForWarnings(t *testing.T, reasons ...string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var list eventsv1.EventList
		require.NoError(t, admin(t).List(ctx, &list, client.InNamespace(f.namespace)))
		var seen []string
		for i := range list.Items {
			if event := &list.Items[i]; event.Regarding.UID == f.store(t).UID && event.Type == corev1.EventTypeWarning {
				seen = append(seen, event.Reason)
			}
		}
		slices.Sort(seen)
		return expect(slices.Equal(reasons, seen), "expected %v, seen %v", reasons, seen)
	})
}
