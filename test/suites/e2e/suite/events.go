package suite

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// CheckEvents waits until the events about obj, an object of the operator's own kind, match the
// writes to children in the operator's log: one event for each write, of the same operation and
// cause (Created for Missing), and no others. The namespace may only contain obj and its children.
func (s *Suite) CheckEvents(t *testing.T, process *operator.Process, obj client.Object) {
	t.Helper()
	kind, err := apiutil.GVKForObject(obj, s.Admin(t).Scheme())
	require.NoError(t, err)
	written := map[string]int{}
	for _, entry := range process.Entries("wrote child", "deleted child") {
		if entry.About(kind.Kind, obj.GetNamespace(), obj.GetName()) {
			reason := entry.Text("cause")
			if reason == string(ensure.Missing) {
				reason = string(ensure.Created)
			}
			written[entry.Text("operation")+" "+reason]++
		}
	}
	require.NotEmpty(t, written, "the operator has written nothing")
	s.Eventually(t, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := s.Admin(t).List(ctx, &list, client.InNamespace(obj.GetNamespace())); err != nil {
			return err
		}
		told := map[string]int{}
		for i := range list.Items {
			if event := &list.Items[i]; event.Regarding.UID == obj.GetUID() && event.Type == corev1.EventTypeNormal {
				told[event.Action+" "+event.Reason]++
			}
		}
		diff := cmp.Diff(written, told)
		return Expect(diff == "", "events are not what was written: %s", diff)
	})
}

// Warnings are the notes of the events that warn of an object for the reason, the first one
// first.
func (s *Suite) Warnings(t *testing.T, namespace, name, reason string) []string {
	t.Helper()
	return s.Notes(t, namespace, name, corev1.EventTypeWarning, reason)
}

// Notes are the notes of the events of a type about an object for the reason, the first one first.
func (s *Suite) Notes(t *testing.T, namespace, name, eventType, reason string) []string {
	t.Helper()
	var list eventsv1.EventList
	require.NoError(t, s.Admin(t).List(t.Context(), &list, client.InNamespace(namespace)))
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	var notes []string
	for i := range list.Items {
		event := &list.Items[i]
		if event.Reason == reason && event.Type == eventType && event.Regarding.Name == name {
			notes = append(notes, event.Note)
		}
	}
	return notes
}
