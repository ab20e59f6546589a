package ensure

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/internal/object"
	"github.com/trueup-go/trueup/internal/testclock"
)

// defaultMemory is how many children an Ensurer remembers unless WithMemory
// says otherwise.
const defaultMemory = 65_536

// An Ensurer creates, updates and deletes children on behalf of one field owner. Create one for each
// controller with New when the manager is set up, and share it: it remembers the responses of the API
// server, so that later reconciles cost no request. An Ensurer is safe for concurrent use.
type Ensurer struct {
	client   client.Client
	reader   client.Reader
	operator layer.Operator

	digester hash.Digester
	labels   map[string]string
	clock    clock.PassiveClock
	recorder events.EventRecorder
	entries  int

	seed   maphash.Seed
	memory *memory.Memory
	tables *tables
	kinds  kinds.Registry
	misuse string // what is wrong with the arguments of New
}

// A Setting configures an Ensurer for all its calls; see New.
type Setting func(*Ensurer)

// New returns an Ensurer that reads and writes through c, usually a manager's client. If a cache could
// be outdated, the Ensurer reads from the API server through reader: a manager's GetAPIReader, or c
// itself if c does not read from a cache.
//
// fieldOwner identifies the operator in metadata.managedFields and in the annotation that stores its
// digest. It must differ from the field owner of every other operator. A field owner has at most 63
// characters of [A-Za-z0-9._-], and begins and ends with a letter or digit; the first call refuses any
// other name. Use FormerFieldOwners to rename a field owner.
func New(c client.Client, reader client.Reader, fieldOwner string, settings ...Setting) *Ensurer {
	e := &Ensurer{
		client:   c,
		kinds:    kinds.Registry{Client: c},
		reader:   reader,
		operator: layer.Operator{FieldOwner: fieldOwner, Store: hash.DefaultStore(fieldOwner)},
		digester: hash.Default(),
		clock:    clock.RealClock{},
		recorder: discardEvents{},
		entries:  defaultMemory,
		seed:     maphash.MakeSeed(),
	}
	for _, set := range settings {
		if set == nil {
			e.misuse = "a Setting given to ensure.New is nil"
			continue
		}
		set(e)
	}
	e.memory = memory.New(e.entries)
	e.tables = newTables(e.entries, e.memory, e.recorder)
	if e.misuse == "" {
		e.misuse = e.findMisuse()
	}
	return e
}

// WithDigest computes digests with digester and stores them in store, instead of SHA-256 in the
// annotation spec-hash.trueup-go.github.io/<field owner>. Two operators that write the same objects
// must not share a store. The digest of an adopted object is stored with the prefix adopt-, for which
// the store must have room. A later change from the default store to another store is detected. After
// any other change of the store, existing objects count as adopted.
func WithDigest(digester hash.Digester, store hash.Store) Setting {
	return func(e *Ensurer) { e.digester, e.operator.Store = digester, store }
}

// FormerFieldOwners names earlier names of the field owner. What they have applied becomes this field owner's before the
// next apply, which removes what desired does not have, together with their digest. Absent and Prune take their objects for
// ours.
func FormerFieldOwners(names ...string) Setting {
	names = slices.Clone(names)
	return func(e *Ensurer) { e.operator.Former = append(e.operator.Former, names...) }
}

// WithLabels adds labels to every child, such as an organisation's conventions, or the label by which a
// filtered cache selects. These labels replace labels of the same key in desired, because the cache
// would not show a child without them.
func WithLabels(labels map[string]string) Setting {
	labels = maps.Clone(labels)
	return func(e *Ensurer) { e.labels = labels }
}

// WithMemory limits how many children the Ensurer remembers. A child counts once for each owner. The
// default is 65,536, the minimum 1, and the least recently used child is forgotten first. A forgotten
// child costs at most one request that changes nothing. However, if somebody replaced the object and
// left no trace of our field owner (kubectl replace), the error is ErrForeign. An entry holds versions
// and digests, about 0.7 kilobytes, and some more for a while after desired changed or somebody
// reverted a field. The values named by Once are held while Recreate replaces an object.
func WithMemory(entries int) Setting {
	return func(e *Ensurer) { e.entries = entries }
}

// A test of this repository may let an Ensurer use another clock.
var _ = testclock.Provide(func(c clock.PassiveClock) any { return Setting(func(e *Ensurer) { e.clock = c }) })

// WithSensitive names kinds whose values must not be shown, in addition to Secret. The API server's
// message can quote the object. So for these kinds, the text of an Error or an event has only the
// fields and the types of the causes. A Change has no values, and paths end before the first list item
// or map key, except for keys of metadata, data, stringData and binaryData. For all other kinds the
// message is shown, on the assumption that readers of the condition, the event or the log may read the
// child.
//
//	ensure.WithSensitive(schema.GroupKind{Group: "vault.example.com", Kind: "Credentials"})
//
// The setting covers all versions of a kind, and may be given several times.
func WithSensitive(kinds ...schema.GroupKind) Setting {
	kinds = slices.Clone(kinds)
	return func(e *Ensurer) { e.kinds.Sensitive = append(e.kinds.Sensitive, kinds...) }
}

// WithRecorder makes the Ensurer record an event for each write that changed something, and for
// failures that people in the cluster can resolve. recorder is the one that a manager's GetEventRecorder returns.
// Calls that change nothing, dry runs, and changes by others record no event. (After a restart, if
// others reverted a change that the cache still shows, the revert is recorded as our write.)
//
// An event is about the owner given to ControlledBy or Set, with the child as the related object, or
// about the child itself if it has no owner. The reason of a write is the Cause, or Created for a
// creation; the action is the Operation. The note names the child and the changes without the digest:
//
//	$ kubectl describe application web
//	Type     Reason          Age  From                  Message
//	Normal   Created         9m   application-operator  created Deployment default/web
//	Normal   DesiredChanged  4m   application-operator  updated Deployment default/web: spec.replicas 2 -> 3
//	Normal   Drifted         1m   application-operator  updated Deployment default/web: spec.replicas 5 -> 3
//	Warning  Forbidden       8s   application-operator  cannot create Service "default/web": Forbidden: exceeded quota: …
//
// A failure is a Warning: ErrForeign, ErrInvalid, ErrImmutable, ErrContested, and requests that the API
// server forbids, for example because of a quota. The reason is Error.Reason, the action
// Error.Operation, and the note the error's text, cut to the 1 KiB that a note may have. The first
// failure of each reason is recorded, and a later failure only if its text differs. This begins anew
// when the child matches again.
//
// Each event is recorded separately. client-go would combine events about the same objects into a
// series, keep the first note, and count later events with a delay. To prevent this, the references to
// both objects have the resourceVersion, which differs for each write of a child, and the related
// object of each Warning has a different fieldPath.
//
// The operator needs the verb create for events in the group events.k8s.io. Events about cluster-scoped
// objects are in the namespace default. Events are sent in the background, in no particular order, and
// may be lost: when the process ends, when more than 1,000 are waiting, or when their namespace is being
// deleted (client-go logs that as an error). Use a condition for everything that must not be lost.
func WithRecorder(recorder events.EventRecorder) Setting {
	return func(e *Ensurer) { e.recorder = recorder }
}

// findMisuse returns a description of wrong arguments of New, for the first call to return.
func (e *Ensurer) findMisuse() string {
	switch problems := validation.IsQualifiedName(e.operator.FieldOwner); {
	case object.IsNil(e.client):
		return "the client given to ensure.New is nil"
	case object.IsNil(e.reader):
		return "the reader given to ensure.New is nil: pass the manager's GetAPIReader(), or the client itself"
	case e.operator.FieldOwner == "":
		return "the field owner given to ensure.New is empty"
	case len(problems) > 0 || strings.Contains(e.operator.FieldOwner, "/"):
		return "the field owner given to ensure.New must be 1 to 63 characters of [A-Za-z0-9._-], " +
			"beginning and ending with a letter or digit"
	case object.IsNil(e.operator.Store):
		return "the store given to ensure.WithDigest is nil"
	case object.IsNil(e.recorder):
		return "the recorder given to ensure.WithRecorder is nil: leave the setting out to record nothing"
	case slices.Contains(e.operator.Former, "") || slices.Contains(e.operator.Former, e.operator.FieldOwner):
		return "ensure.FormerFieldOwners needs earlier names of the field owner, and not the one of now"
	case e.entries < 1:
		return "ensure.WithMemory needs at least 1 entry"
	case slices.ContainsFunc(e.kinds.Sensitive, func(kind schema.GroupKind) bool { return kind.Kind == "" }):
		return "a kind given to ensure.WithSensitive is empty"
	}
	return e.findMisuseOfDigests()
}

// findMisuseOfDigests stores a digest in a test object, because a store may not accept the output of
// the digester.
func (e *Ensurer) findMisuseOfDigests() string {
	var probe metav1.ObjectMeta
	digest, err := e.digester.Of("")
	if err == nil && digest != "" {
		err = e.operator.Store.Set(&probe, layer.AdoptedMark+digest)
	}
	e.operator.Digests = layer.ItemsOf(&probe)
	switch {
	case err != nil:
		return "the digester and the store given to ensure.WithDigest do not match: " + err.Error()
	case digest == "":
		return "the digester given to ensure.WithDigest returns empty digests"
	}
	return ""
}

// discardEvents is the recorder of an Ensurer that was given none.
type discardEvents struct{}

func (discardEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}
