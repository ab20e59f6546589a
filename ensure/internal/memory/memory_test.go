package memory_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/ensure/internal/memory"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestConfirm(t *testing.T) {
	known := memory.Record{UID: "1", Version: "100", At: start}
	cases := map[string]struct {
		reason  string
		confirm memory.Record
		isKept  bool
	}{
		"a later answer":                    {"it is newer", memory.Record{UID: "1", Version: "101", At: start}, true},
		"an earlier answer":                 {"passes may end in another order", memory.Record{UID: "1", Version: "99", At: start}, false},
		"an earlier answer, two minutes on": {"the server was restored", memory.Record{UID: "1", Version: "99", At: start.Add(2 * time.Minute)}, true},
		"another object":                    {"it was made again", memory.Record{UID: "2", Version: "99", At: start}, true},
		"a version that is no number":       {"nothing shows which is older", memory.Record{UID: "1", Version: "x", At: start}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, key := memory.New(1), memory.OwnedKey{}
			m.Foreign.Set(key, memory.Foreign{})
			m.Confirm(key, known)
			_, isForeign := m.Foreign.Get(key)
			require.False(t, isForeign, "what is confirmed is not foreign")
			m.Confirm(key, tc.confirm)
			require.Equal(t, tc.isKept, reflect.DeepEqual(m.Record(key), tc.confirm), tc.reason)
		})
	}
}

func TestRecordsAreKeptByOwner(t *testing.T) {
	m := memory.New(2)
	child := memory.ChildKey{Key: types.NamespacedName{Name: "settings"}}
	first, second := memory.OwnedKey{Child: child, Owner: "1"}, memory.OwnedKey{Child: child, Owner: "2"}
	m.Confirm(first, memory.Record{UID: "a", Version: "1", Content: "x"})
	m.Release(second, memory.Foreign{Version: "2"})
	require.NotZero(t, m.Record(first))

	m.Invalidate(first)
	m.NoteDeletion(first)
	require.Equal(t, memory.Record{UID: "a", Deleted: true}, m.Record(first))
	m.Invalidate(second)
	require.Zero(t, m.Record(second), "nothing is known to doubt")
	m.Release(first, memory.Foreign{Version: "3"})
	require.Zero(t, m.Record(first))
	released, known := m.Foreign.Get(first)
	require.True(t, known)
	require.True(t, released.IsNewerThan("2"))
	require.False(t, released.IsNewerThan("3"))
}

func TestHiddenSince(t *testing.T) {
	m, key := memory.New(1), memory.ChildKey{}
	require.Equal(t, start, m.NoteHidden(key, "1", start))
	require.Equal(t, start, m.NoteHidden(key, "1", start.Add(time.Minute)))
	require.Equal(t, start.Add(time.Minute), m.NoteHidden(key, "2", start.Add(time.Minute)), "another object")
	require.True(t, m.IsHidden(key))
	m.Absent.Set(key, struct{}{})
	m.NoteShown(key)
	require.False(t, m.IsHidden(key))
	require.False(t, m.Absent.Has(key), "the cache shows it")
}

func TestIsNews(t *testing.T) {
	m, key := memory.New(1), memory.OwnedKey{}
	require.True(t, m.NoteReport(key, "Invalid", "a"))
	require.False(t, m.NoteReport(key, "Invalid", "a"))
	require.True(t, m.NoteReport(key, "Foreign", "a"))
	require.True(t, m.NoteReport(key, "Invalid", "b"), "it has another text")
	m.Reported.Remove(key)
	require.True(t, m.NoteReport(key, "Invalid", "b"))
}
