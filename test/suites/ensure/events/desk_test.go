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

// clerk is who does the work: the field owner, and the events' reporting controller.
const clerk = "clerk"

// A desk is a namespace with an operator that has a manager's client and recorder, an owner of the
// children, and a person with every right.
type desk struct {
	t         *testing.T
	ctx       context.Context
	agent     string
	human     client.Client
	cached    client.Client // the operator's
	namespace string
	owner     client.Object
	ensurer   *ensure.Ensurer
	told      *tap
}

// A tap counts the events on their way to a recorder, which sends them later.
type tap struct {
	events.EventRecorder

	count atomic.Int32
}

func (p *tap) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	p.count.Add(1)
	p.EventRecorder.Eventf(regarding, related, eventtype, reason, action, note, args...)
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	t.Cleanup(cancel)
	d := &desk{
		t: t, ctx: ctx, agent: "clerk of " + t.Name(),
		human: program.Client(t, shared, "person"), namespace: shared.Namespace(t),
	}
	d.owner = &corev1.ConfigMap{ObjectMeta: d.named("owner")}
	require.NoError(t, d.human.Create(ctx, d.owner))
	d.restart()
	return d
}

// restart starts another operator, which knows nothing of the last one.
func (d *desk) restart() {
	d.t.Helper()
	running := program.Cached(d.t, shared, d.agent)
	d.cached = running.GetClient()
	d.told = &tap{EventRecorder: running.GetEventRecorder(clerk)}
	d.ensurer = ensure.New(d.cached, running.GetAPIReader(), clerk, ensure.WithRecorder(d.told))
}

func (d *desk) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: d.namespace, Name: name}
}

// settings is a child.
func (d *desk) settings(color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: d.named("settings"), Data: map[string]string{"color": color}}
}

func (d *desk) ensure(desired client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	d.t.Helper()
	res, err := ensure.Object(d.ctx, d.ensurer, desired, append(opts, ensure.ControlledBy(d.owner))...)
	require.NoError(d.t, err)
	return res
}

func (d *desk) absent(obj client.Object, opts ...ensure.Option) ensure.Result[client.Object] {
	d.t.Helper()
	res, err := ensure.Absent(d.ctx, d.ensurer, obj, append(opts, ensure.ControlledBy(d.owner))...)
	require.NoError(d.t, err)
	return res
}

// edit is another's hand.
func (d *desk) edit(obj client.Object, patch string) {
	d.t.Helper()
	live := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it is one
	require.NoError(d.t, d.human.Patch(d.ctx, live, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func (d *desk) await(what string, isSo func() bool) {
	d.t.Helper()
	err := wait.PollUntilContextTimeout(d.ctx, tick, limit, true, func(context.Context) (bool, error) { return isSo(), nil })
	require.NoError(d.t, err, "waiting for %s", what)
}

// A sight is the part of an event that people see.
type sight struct {
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

// eventsIn are the operator's, about objects in the desk's namespace, in their order.
func (d *desk) eventsIn(namespace string) []eventsv1.Event {
	d.t.Helper()
	var list eventsv1.EventList
	require.NoError(d.t, d.human.List(d.ctx, &list, client.InNamespace(namespace)))
	found := slices.DeleteFunc(list.Items, func(event eventsv1.Event) bool { return event.ReportingController != clerk })
	slices.SortFunc(found, func(a, b eventsv1.Event) int {
		return cmp.Compare(a.EventTime.UnixMicro(), b.EventTime.UnixMicro())
	})
	return found
}

// sights returns the recorded events once all of them have arrived.
func (d *desk) sights() []sight {
	d.t.Helper()
	var found []eventsv1.Event
	d.await("the events", func() bool {
		found = d.eventsIn(d.namespace)
		return len(found) >= int(d.told.count.Load())
	})
	var sights []sight
	for _, event := range found {
		require.Nil(d.t, event.Series)
		if event.Type == corev1.EventTypeWarning {
			continue // of which TestWarnings tells
		}
		sights = append(sights, sight{refer(&event.Regarding), refer(event.Related), event.Reason, event.Action, event.Note})
	}
	return sights
}

// requests returns the operator's requests since mark: requests about events, and all others.
func (d *desk) requests(mark cluster.Mark) (about, others map[string]int) {
	d.t.Helper()
	all := program.Requests(d.t, shared, mark, d.agent)
	isEvent := func(r cluster.Request) bool { return r.Resource == "events" }
	return cluster.Counts(slices.DeleteFunc(slices.Clone(all), func(r cluster.Request) bool { return !isEvent(r) })),
		cluster.Counts(slices.DeleteFunc(all, isEvent))
}
