package ensure

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// memory holds what the API server confirmed. Losing an entry costs a request. Only a
// child that kubectl replace stripped of every sign of ours is known by nothing else,
// and then foreign.
type memory struct {
	mu      sync.Mutex
	records *lru.Cache // ownedKey to record
	unseen  *lru.Cache // childKey to sighting
	absent  *lru.Cache // childKey, of what the server does not have
	written *lru.Cache // childKey to the digest that was confirmed last, for whatever owner
	leaving *lru.Cache // ownedKey to replacement
	moved   *lru.Cache // ownedKey to look, of what MigrateFrom has nothing to do for
	foreign *lru.Cache // ownedKey to sight, of what holds nothing of ours, or to withdrawal
	told    *lru.Cache // ownedKey to told

	attempts *lru.Cache // attemptKey to attempt

	contests *contests
}

type childKey struct {
	gvk schema.GroupVersionKind
	key types.NamespacedName
}

// An ownedKey is a child on behalf of an owner, or of none. What is known of the object itself
// goes by its childKey; what was wanted of it, and what came of that, by the ownedKey: no owner
// changes that for another, whose child has the same name.
type ownedKey struct {
	childKey

	owner types.UID
}

// A record says: with desired of this digest, the server was content with this.
type record struct {
	uid     types.UID
	digest  string
	form    uint64 // checksum of what the digest is of
	version string // the newest resourceVersion known to hold this content
	content string // fingerprint of everything but metadata and status
	ours    string // fingerprint of what desired names in the metadata
	entry   string // fingerprint of what our applies own; empty if the copy did not say
	adopted bool   // somebody else made it
	at      time.Time
	shown   bool // the cache has shown this object
	removed bool // by us
}

// A sighting is when the server first showed a child that the cache does not.
type sighting struct {
	uid   types.UID
	since time.Time
}

func newMemory(entries int) *memory {
	return &memory{
		records: lru.New(entries), unseen: lru.New(entries), absent: lru.New(entries),
		written: lru.New(entries), leaving: lru.New(entries), moved: lru.New(entries), foreign: lru.New(entries),
		told:     lru.New(entries),
		attempts: lru.New(entries),
		contests: newContests(entries),
	}
}

func (m *memory) get(key ownedKey) (record, bool) {
	value, ok := m.records.Get(key)
	if !ok {
		return record{}, false
	}
	r, ok := value.(record)
	return r, ok
}

// confirm remembers r, unless a newer answer about the same object came in between:
// two reconciles may end in another order than the server answered them.
func (m *memory) confirm(key ownedKey, r record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.get(key)
	if ok && old.uid == r.uid && r.uid != "" && older(r.version, old.version) && r.at.Sub(old.at) < staleFor {
		return
	}
	m.records.Add(key, r)
	m.foreign.Remove(key)
}

// lastWritten returns the digest of the desired state that was confirmed last, for whatever owner.
func (m *memory) lastWritten(key childKey) string {
	value, _ := m.written.Get(key)
	digest, _ := value.(string)
	return digest
}

// doubt notes that the object is not what the server confirmed.
func (m *memory) doubt(key ownedKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, known := m.get(key); known {
		r.version, r.content = "", ""
		m.records.Add(key, r)
	}
}

// unseenSince notes that the server has the object uid, which the cache does not
// show, and returns when that was first so.
func (m *memory) unseenSince(key childKey, uid types.UID, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok := m.unseen.Get(key); ok {
		if first, ok := value.(sighting); ok && first.uid == uid {
			return first.since
		}
	}
	m.unseen.Add(key, sighting{uid: uid, since: now})
	return now
}

// isUnseen reports whether the server had the object when the cache did not show it.
func (m *memory) isUnseen(key childKey) bool {
	if m.unseen.Len() == 0 {
		return false
	}
	_, known := m.unseen.Get(key)
	return known
}

// seen notes that the cache shows the object.
func (m *memory) seen(key childKey) {
	if m.unseen.Len() > 0 {
		m.unseen.Remove(key)
	}
	m.mayExist(key)
}

// removed notes that we deleted the object: that nobody else did.
func (m *memory) removed(key ownedKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, known := m.get(key); known {
		r.removed = true
		m.records.Add(key, r)
	}
}

// gone notes that the server has no such object. That holds until somebody makes one:
// this Ensurer, or somebody else, which the cache will show.
func (m *memory) gone(key childKey) { m.absent.Add(key, nil) }

func (m *memory) isGone(key childKey) bool {
	_, known := m.absent.Get(key)
	return known
}

// mayExist takes back what gone noted.
func (m *memory) mayExist(key childKey) {
	if m.absent.Len() > 0 {
		m.absent.Remove(key)
	}
}

// replacing notes that the child was deleted to be made again.
func (m *memory) replacing(key ownedKey, r replacement) { m.leaving.Add(key, r) }

// isThere takes back what replacing noted, if somebody else was first to make the child.
func (m *memory) isThere(key ownedKey, uid types.UID) {
	if m.leaving.Len() == 0 {
		return
	}
	value, _ := m.leaving.Get(key)
	if r, ok := value.(replacement); ok && r.deleted != uid {
		m.leaving.Remove(key)
	}
}

// replacement returns what replacing noted.
func (m *memory) replacement(key ownedKey) (replacement, bool) {
	if m.leaving.Len() == 0 {
		return replacement{}, false
	}
	value, _ := m.leaving.Get(key)
	r, ok := value.(replacement)
	return r, ok
}

// replaced takes it back, now that the child is made, or no longer wanted.
func (m *memory) replaced(key ownedKey) {
	if m.leaving.Len() > 0 {
		m.leaving.Remove(key)
	}
}

// older compares resourceVersions as numbers, which they are by contract since
// Kubernetes 1.35 (KEP-5504). Where they do not parse, neither is older.
func older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
