// Package lru holds values by keys, and forgets the least recently used.
package lru

import (
	"sync"
	"sync/atomic"
)

// A Table holds one value per key, up to a number of entries, and forgets the least recently used
// first. It is safe for concurrent use.
//
// Its entries have types, unlike those of k8s.io/utils/lru: a lookup, of which each pass over a child
// takes several, then reads less memory and allocates none.
type Table[K comparable, V any] struct {
	limit  int
	length atomic.Int64 // spares the lock of a table without an entry, as most are

	mu      sync.Mutex // guards entries and ring
	entries map[K]*entry[K, V]
	ring    entry[K, V] // joins the ends: the newest entry is older than it, the oldest is newer
}

type entry[K comparable, V any] struct {
	newer, older *entry[K, V]
	key          K
	value        V
}

// New returns an empty table of at most the given number of entries.
func New[K comparable, V any](limit int) *Table[K, V] {
	t := &Table[K, V]{limit: limit}
	t.Clear()
	return t
}

// Get returns the value of key, and whether there is one.
func (t *Table[K, V]) Get(key K) (value V, known bool) {
	if t.IsEmpty() {
		return value, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found, known := t.entries[key]
	if known {
		t.makeNewest(found)
		value = found.value
	}
	return value, known
}

// Has reports whether key has a value.
func (t *Table[K, V]) Has(key K) bool {
	_, known := t.Get(key)
	return known
}

// Set sets the value of key.
func (t *Table[K, V]) Set(key K, value V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, known := t.entries[key]; known {
		t.makeNewest(found)
		found.value = value
		return
	}
	if len(t.entries) == t.limit {
		t.remove(t.ring.newer)
	}
	added := &entry[K, V]{key: key, value: value}
	t.entries[key] = added
	t.link(added)
	t.length.Add(1)
}

// Remove removes key.
func (t *Table[K, V]) Remove(key K) {
	if t.IsEmpty() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, known := t.entries[key]; known {
		t.remove(found)
	}
}

// Clear removes all keys.
func (t *Table[K, V]) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = map[K]*entry[K, V]{}
	t.ring.newer, t.ring.older = &t.ring, &t.ring
	t.length.Store(0)
}

// IsEmpty reports whether the table has no entry.
func (t *Table[K, V]) IsEmpty() bool { return t.length.Load() == 0 }

func (t *Table[K, V]) remove(e *entry[K, V]) {
	delete(t.entries, e.key)
	e.unlink()
	t.length.Add(-1)
}

func (t *Table[K, V]) makeNewest(e *entry[K, V]) {
	if t.ring.older != e {
		e.unlink()
		t.link(e)
	}
}

// link puts e into the ring as the newest entry.
func (t *Table[K, V]) link(e *entry[K, V]) {
	e.newer, e.older = &t.ring, t.ring.older
	e.newer.older, e.older.newer = e, e
}

func (e *entry[K, V]) unlink() { e.newer.older, e.older.newer = e.older, e.newer }
