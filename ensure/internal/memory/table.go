package memory

import (
	"sync/atomic"

	"k8s.io/utils/lru"
)

// A Table holds one value per key, up to a number of entries, and forgets the least recently used
// first. It is safe for concurrent use.
type Table[K comparable, V any] struct {
	entries *lru.Cache
	isUsed  *atomic.Bool // spares the lock of a table without an entry, as most are
}

// NewTable returns an empty table of at most the given number of entries.
func NewTable[K comparable, V any](entries int) Table[K, V] {
	return Table[K, V]{entries: lru.New(entries), isUsed: &atomic.Bool{}}
}

// Get returns the value of key, and whether there is one.
func (t Table[K, V]) Get(key K) (value V, known bool) {
	if !t.isUsed.Load() {
		return value, false
	}
	found, known := t.entries.Get(key)
	value, _ = found.(V)
	return value, known
}

// Has reports whether key has a value.
func (t Table[K, V]) Has(key K) bool {
	_, known := t.Get(key)
	return known
}

// Set sets the value of key.
func (t Table[K, V]) Set(key K, value V) {
	t.isUsed.Store(true)
	t.entries.Add(key, value)
}

// Remove removes key.
func (t Table[K, V]) Remove(key K) {
	if t.isUsed.Load() {
		t.entries.Remove(key)
	}
}

// Clear removes all keys.
func (t Table[K, V]) Clear() { t.entries.Clear() }

// IsEmpty reports whether the table has no entry.
func (t Table[K, V]) IsEmpty() bool { return !t.isUsed.Load() || t.entries.Len() == 0 }
