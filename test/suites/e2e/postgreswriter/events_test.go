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

// TestWarnings checks that each new failure has one warning, which repeats the condition.
func TestWarnings(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d, "--tables=students,missing")
	d.insert(t, "students", f.key(), berta)
	f.create(t)
	for _, failure := range []struct{ table, reason string }{
		{"students", "RowExists"}, {"unlisted", "TableNotAllowed"}, {"missing", "TableMissing"},
	} {
		if failure.reason == "TableMissing" {
			d.exec(t, "delete from students")
		}
		f.change(t, `{"table":"`+failure.table+`"}`)
		message := f.waitForReason(t, failure.reason).Message
		for range 3 {
			f.reconcile(t)
		}
		eventually(t, func(context.Context) error {
			return expect(len(tests.Warnings(t, f.namespace, f.name, failure.reason)) > 0, "no event for %s", failure.reason)
		})
		require.Equal(t, []string{message}, tests.Warnings(t, f.namespace, f.name, failure.reason))
	}
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
