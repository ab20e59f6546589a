// Package memory holds the facts about children that an Ensurer remembers between passes. The package
// knows no client.
package memory

import (
	"crypto/sha256"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/internal/lru"
)

// MaxLag is how long a cached copy may be older than the latest answer of the API server. An older
// copy comes from a watch that stopped, or the server was restored from a backup: the API server is
// asked again.
const MaxLag = 2 * time.Minute

// A ChildKey identifies a child on the API server.
type ChildKey struct {
	Kind string // with its group and version
	Key  types.NamespacedName
}

// An OwnedKey identifies a child on behalf of an owner, or of none. Facts about the object itself
// are kept by ChildKey. The desired states of the child, and the results, are kept by OwnedKey, so that
// one owner's child changes nothing that is known of another owner's child of the same name.
type OwnedKey struct {
	Child ChildKey
	Owner types.UID
}

// A Memory holds facts that the API server confirmed. A lost entry costs one request, with one exception:
// a child that kubectl replace stripped of its digest, owner reference and managed fields is
// recognised by its record only, and foreign without the record. A Memory is safe for concurrent use.
type Memory struct {
	// Absent are the children that the API server does not have, until this Ensurer makes them or
	// the cache shows them.
	Absent *lru.Table[ChildKey, struct{}]
	// Applied is the latest confirmed desired state, for whichever owner.
	Applied *lru.Table[ChildKey, Applied]
	Foreign *lru.Table[OwnedKey, Foreign]
	// Nulls are the nulls of desired that the API server refused.
	Nulls *lru.Table[OwnedKey, Nulls]
	// Reported are digests of the texts of failures by reason; see NoteReport.
	Reported *lru.Table[OwnedKey, map[string]string]

	mu      sync.Mutex // guards changes that depend on an entry, or concern two tables
	records *lru.Table[OwnedKey, Record]
	hidden  *lru.Table[ChildKey, hidden]
}

// A Record says that the API server was content with this object for the desired state of this digest.
type Record struct {
	UID      types.UID
	Digest   string
	Checksum uint64 // of the canonical form that the digest is computed from
	Version  string // the newest resourceVersion known to have this content
	Content  string // fingerprint of everything but metadata and status
	Metadata string // fingerprint of the metadata that desired specifies
	Entry    string // fingerprint of the fields that the field owner applied; empty if the copy did not show them
	Handover Handover
	Adopted  bool // another program made the object
	At       time.Time
	Shown    bool // the cache has shown this object
	Deleted  bool // by this Ensurer
}

// A Handover says which fields changed their owner.
type Handover struct {
	Options string   // by which fields change their owner
	Retired []string // the paths at which nothing is left to retire
}

// An Applied is a desired state that the API server confirmed.
type Applied struct {
	Digest string
	UID    types.UID // of the live object
}

// A Snapshot changes when somebody changes the content of an object, or which labels, annotations, finalizers and owners
// it has. The values of labels and annotations do not count, as some are heartbeats.
type Snapshot struct {
	UID types.UID
	Sum [sha256.Size]byte
}

// A Foreign is an object of another owner, or of none.
type Foreign struct {
	// Snapshot is the object without any field of this field owner, and Version its resourceVersion.
	Snapshot Snapshot
	Version  string
}

// Nulls are fields that are null in the desired state of a digest, and that may not be null.
type Nulls struct {
	Digest string
	Fields []string // without indexes
}

// hidden says since when the cache does not show an object that the API server has.
type hidden struct {
	uid   types.UID
	since time.Time
}

// New returns an empty memory of at most the given number of entries of each sort.
func New(entries int) *Memory {
	return &Memory{
		Absent:   lru.New[ChildKey, struct{}](entries),
		Applied:  lru.New[ChildKey, Applied](entries),
		Foreign:  lru.New[OwnedKey, Foreign](entries),
		Nulls:    lru.New[OwnedKey, Nulls](entries),
		Reported: lru.New[OwnedKey, map[string]string](entries),
		records:  lru.New[OwnedKey, Record](entries),
		hidden:   lru.New[ChildKey, hidden](entries),
	}
}

// Record returns the record of a child; it is empty if the child is not known.
func (m *Memory) Record(key OwnedKey) Record {
	record, _ := m.records.Get(key)
	return record
}

// Confirm remembers record, unless a newer answer about the same object came in between: two
// passes may end in another order than the API server answered them. There is no record of an object without a UID:
// controller-runtime's own fake client gives none, and its versions come again.
func (m *Memory) Confirm(key OwnedKey, record Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.Record(key)
	if known.UID == record.UID && known.IsNewerThan(record.Version) && record.At.Sub(known.At) < MaxLag {
		return
	}
	if record.UID != "" {
		m.records.Set(key, record)
	}
	m.Foreign.Remove(key)
}

// Invalidate notes that the object may differ from its record.
func (m *Memory) Invalidate(key OwnedKey) {
	m.change(key, func(record *Record) { record.Version, record.Content = "", "" })
}

// NoteDeletion notes that this Ensurer deleted the object.
func (m *Memory) NoteDeletion(key OwnedKey) {
	m.change(key, func(record *Record) { record.Deleted = true })
}

func (m *Memory) change(key OwnedKey, change func(*Record)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if record, known := m.records.Get(key); known {
		change(&record)
		m.records.Set(key, record)
	}
}

// Release remembers object as foreign, and forgets that the object belonged to the field owner.
func (m *Memory) Release(key OwnedKey, object Foreign) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records.Remove(key)
	m.Foreign.Set(key, object)
}

// NoteHidden notes that the API server has the object with this UID and that the cache does not
// show the object, and returns the time of the first note.
func (m *Memory) NoteHidden(key ChildKey, uid types.UID, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, known := m.hidden.Get(key); known && first.uid == uid {
		return first.since
	}
	m.hidden.Set(key, hidden{uid: uid, since: now})
	return now
}

// IsHidden reports whether the API server had the object while the cache did not show one.
func (m *Memory) IsHidden(key ChildKey) bool { return m.hidden.Has(key) }

// ForgetHidden forgets since when the cache does not show the object.
func (m *Memory) ForgetHidden(key ChildKey) { m.hidden.Remove(key) }

// NoteShown notes that the cache shows the object.
func (m *Memory) NoteShown(key ChildKey) {
	m.ForgetHidden(key)
	m.Absent.Remove(key)
}

// NoteReport notes a failure by its reason and the digest of its text, and reports whether it is the
// first of that reason, or has another text than the one before.
func (m *Memory) NoteReport(key OwnedKey, reason, digest string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.Reported.Get(key)
	if !known {
		before = map[string]string{}
		m.Reported.Set(key, before)
	}
	isNews := before[reason] != digest
	before[reason] = digest
	return isNews
}

// IsNewerThan reports whether the record is of a later state of the object than version.
func (r Record) IsNewerThan(version string) bool { return isOlder(version, r.Version) }

// IsNewerThan reports whether the object was released later than version.
func (f Foreign) IsNewerThan(version string) bool { return isOlder(version, f.Version) }

// isOlder compares resourceVersions as numbers, which they are by contract since Kubernetes 1.35
// (KEP-5504). If one is no number, it returns false.
func isOlder(a, b string) bool {
	if a == b {
		return false
	}
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
