package postgreswriter_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestEvents checks that each write to a row has an event, and nothing else has one.
func TestEvents(t *testing.T) {
	d := newDatabase(t, server, "students", "teachers")
	f := newFixture(t, d, start(t, d, "--tables=students,teachers"))
	writer := f.writer(t).UID
	for range 3 {
		f.reconcile(t)
	}
	f.change(t, `{"age":24}`)
	f.settle(t)
	f.change(t, `{"table":"teachers"}`)
	f.settle(t)
	f.delete(t)
	f.waitUntilGone(t)
	eventually(t, func(ctx context.Context) error {
		diff := cmp.Diff([]string{
			"RowInserted Inserted: wrote the row into table students",
			"RowUpdated Updated: wrote the row into table students",
			"RowMoved Moved: wrote the row into table teachers",
			"RowDeleted Deleted: deleted the row",
		}, f.eventsAbout(ctx, t, writer))
		return expect(diff == "", "%s", diff)
	})
}

// eventsAbout returns the events about an object of the fixture, in their order.
func (f fixture) eventsAbout(ctx context.Context, t *testing.T, uid types.UID) []string {
	t.Helper()
	var list eventsv1.EventList
	require.NoError(t, admin(t).List(ctx, &list, client.InNamespace(f.namespace)))
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	var found []string
	for i := range list.Items {
		if event := &list.Items[i]; event.Regarding.UID == uid {
			found = append(found, event.Reason+" "+event.Action+": "+event.Note)
		}
	}
	return found
}
