package trial

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// An Entry records one write of a user.
type Entry struct {
	At  time.Time
	Who string
	Did string
	To  owners.Ref
	// Mark has the fields that the user added, if any.
	Mark owners.Manifest `json:",omitempty"`
}

// A journal records the writes of users, and what follows from them: which marks objects should have, and which
// objects operators may delete. A mark is recorded when the API server has acknowledged it, and everything else
// before it is sent.
type journal struct {
	mu      sync.Mutex
	entries []Entry
	marks   map[owners.Ref]mark
	reasons map[owners.Ref][]reason
}

// A mark has the fields that users added to the object with this UID. It is lost with the object.
type mark struct {
	uid    types.UID
	fields owners.Manifest
}

// A reason is why operators may delete an object, or the objects that it controls.
type reason struct {
	from, to time.Time // to is zero if the reason does not end
	ofItself bool      // the object itself, not only the objects that it controls
}

func newJournal() *journal {
	return &journal{marks: map[owners.Ref]mark{}, reasons: map[owners.Ref][]reason{}}
}

// note records a write.
func (j *journal) note(who, did string, to owners.Ref) { j.add(Entry{Who: who, Did: did, To: to}) }

func (j *journal) add(e Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.At = time.Now()
	j.entries = append(j.entries, e)
}

// noteMark records that a user added fields to an object, beside those that users added before.
func (j *journal) noteMark(who string, to owners.Ref, uid types.UID, fields owners.Manifest) {
	j.add(Entry{Who: who, Did: "marked", To: to, Mark: fields})
	j.mu.Lock()
	defer j.mu.Unlock()
	if known := j.marks[to]; known.uid == uid {
		fields = merged(known.fields, fields)
	}
	j.marks[to] = mark{uid: uid, fields: fields}
}

// merged returns the fields of both; those of after win, and lists are replaced.
func merged(before, after owners.Manifest) owners.Manifest {
	both := maps.Clone(before)
	for key, value := range after {
		inner, isMap := value.(owners.Manifest)
		if earlier, ok := both[key].(owners.Manifest); ok && isMap {
			value = merged(earlier, inner)
		}
		both[key] = value
	}
	return both
}

// erase records that a user removes a part of a mark.
func (j *journal) erase(of owners.Ref, fields ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known, ok := j.marks[of]; ok {
		known.fields = (&unstructured.Unstructured{Object: known.fields}).DeepCopy().Object
		unstructured.RemoveNestedField(known.fields, fields...)
		j.marks[of] = known
	}
}

// allow records that operators may delete the objects that an object controls from now on and, if ofItself, the object.
func (j *journal) allow(of owners.Ref, ofItself bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reasons[of] = append(j.reasons[of], reason{from: time.Now(), ofItself: ofItself})
}

// forbid ends the reasons for which operators may delete an object itself.
func (j *journal) forbid(of owners.Ref) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.reasons[of] {
		if at := &j.reasons[of][i]; at.ofItself && at.to.IsZero() {
			at.to = time.Now()
		}
	}
}

// allows reports whether there was a reason at this time to delete an object, or what it controls.
func (j *journal) allows(of owners.Ref, ofItself bool, at time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.reasons[of] {
		if (r.ofItself || !ofItself) && !at.Before(r.from) && (r.to.IsZero() || !at.After(r.to)) {
			return true
		}
	}
	return false
}

func (j *journal) allMarks() map[owners.Ref]mark {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.marks)
}

// write writes the entries, one a line.
func (j *journal) write(out io.Writer) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := json.NewEncoder(out)
	for _, e := range j.entries {
		if err := lines.Encode(e); err != nil {
			return fmt.Errorf("cannot write the journal: %w", err)
		}
	}
	return nil
}
