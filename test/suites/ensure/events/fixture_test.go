package events_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// fieldOwner is the operator's field owner, and the events' reporting controller.
const fieldOwner = "events-operator"

// A fixture is a namespace with an operator that has a manager's client and recorder, an owner of the
// children, and an admin client.
type fixture struct {
	t         *testing.T
	ctx       context.Context
	userAgent string
	admin     client.Client
	client    client.Client // the operator's
	namespace string
	owner     client.Object
	ensurer   *ensure.Ensurer
	recorder  *countingRecorder
}

// A countingRecorder counts the events that it passes to a recorder, which sends them later.
type countingRecorder struct {
	events.EventRecorder

	count atomic.Int32
}

func (r *countingRecorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.count.Add(1)
	r.EventRecorder.Eventf(regarding, related, eventtype, reason, action, note, args...)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	t.Cleanup(cancel)
	f := &fixture{
		t: t, ctx: ctx, userAgent: "operator of " + t.Name(),
		admin: program.Client(t, shared, "kubectl-edit"), namespace: shared.Namespace(t),
	}
	f.owner = &corev1.ConfigMap{ObjectMeta: f.objectMeta("owner")}
	require.NoError(t, f.admin.Create(ctx, f.owner))
	f.restart()
	return f
}

// restart starts another operator, which knows nothing of the last one.
func (f *fixture) restart() {
	f.t.Helper()
	running := program.Cached(f.t, shared, f.userAgent)
	f.client = running.GetClient()
	f.recorder = &countingRecorder{EventRecorder: running.GetEventRecorder(fieldOwner)}
	f.ensurer = ensure.New(f.client, running.GetAPIReader(), fieldOwner, ensure.WithRecorder(f.recorder))
}

func (f *fixture) objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.namespace, Name: name}
}

// settings is a child.
func (f *fixture) settings(color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: f.objectMeta("settings"), Data: map[string]string{"color": color}}
}

func (f *fixture) ensure(desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	f.t.Helper()
	res, err := ensure.Object(f.ctx, f.ensurer, desired, append(opts, ensure.ControlledBy(f.owner))...)
	require.NoError(f.t, err)
	return res
}

func (f *fixture) absent(obj client.Object, opts ...ensure.AbsentOption) ensure.Result[client.Object] {
	f.t.Helper()
	res, err := ensure.Absent(f.ctx, f.ensurer, obj, append(opts, ensure.ControlledBy(f.owner))...)
	require.NoError(f.t, err)
	return res
}

// edit patches obj as the admin.
func (f *fixture) edit(obj client.Object, patch string) {
	f.t.Helper()
	live := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it is one
	require.NoError(f.t, f.admin.Patch(f.ctx, live, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func (f *fixture) await(what string, isSo func() bool) {
	f.t.Helper()
	err := wait.PollUntilContextTimeout(f.ctx, tick, limit, true, func(context.Context) (bool, error) { return isSo(), nil })
	require.NoError(f.t, err, "waiting for %s", what)
}

// An eventSummary is the part of an event that kubectl shows.
type eventSummary struct {
	Regarding, Related, Reason, Action, Note string
}

func refer(ref *corev1.ObjectReference) string {
	if ref == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %s/%s %s", ref.APIVersion, ref.Kind, ref.Namespace, ref.Name, ref.UID)
}

// referTo is how events name an object.
func referTo(apiVersion, kind string, obj client.Object) string {
	return refer(&corev1.ObjectReference{
		APIVersion: apiVersion, Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
	})
}

// eventsIn are the operator's, about objects in the fixture's namespace, in their order.
func (f *fixture) eventsIn(namespace string) []eventsv1.Event {
	f.t.Helper()
	var list eventsv1.EventList
	require.NoError(f.t, f.admin.List(f.ctx, &list, client.InNamespace(namespace)))
	found := slices.DeleteFunc(list.Items, func(event eventsv1.Event) bool { return event.ReportingController != fieldOwner })
	slices.SortFunc(found, func(a, b eventsv1.Event) int {
		return cmp.Compare(a.EventTime.UnixMicro(), b.EventTime.UnixMicro())
	})
	return found
}

// eventSummaries returns the recorded events once all of them have arrived.
func (f *fixture) eventSummaries() []eventSummary {
	f.t.Helper()
	var found []eventsv1.Event
	f.await("the events", func() bool {
		found = f.eventsIn(f.namespace)
		return len(found) >= int(f.recorder.count.Load())
	})
	var sights []eventSummary
	for _, event := range found {
		require.Nil(f.t, event.Series)
		if event.Type == corev1.EventTypeWarning {
			continue // of which TestWarnings tells
		}
		sights = append(sights, eventSummary{refer(&event.Regarding), refer(event.Related), event.Reason, event.Action, event.Note})
	}
	return sights
}

// requests returns the operator's requests since mark: requests about events, and all others.
func (f *fixture) requests(mark cluster.Mark) (about, others map[string]int) {
	f.t.Helper()
	all := program.Requests(f.t, shared, mark, f.userAgent)
	isEvent := func(r cluster.Request) bool { return r.Resource == "events" }
	return cluster.Counts(slices.DeleteFunc(slices.Clone(all), func(r cluster.Request) bool { return !isEvent(r) })),
		cluster.Counts(slices.DeleteFunc(all, isEvent))
}
