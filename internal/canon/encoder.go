package canon

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxDepth bounds how deeply values may nest, so that a cycle of pointers is an
// error and not the end of the process. encoding/json reads no deeper either.
const maxDepth = 10_000

// maxKept is the scratch space, in bytes, that a pooled encoder keeps.
const maxKept = 64 << 10

var errTooDeep = errors.New("nested too deeply, or in a cycle")

// encoder is the state of one walk: the bytes written so far and the scratch
// space that maps need to bring their members in order.
type encoder struct {
	buf     []byte
	depth   int
	members []member
	scratch []byte

	explicit  bool   // empty values that are statements are written
	isBuiltIn bool   // unstructured content is a built-in kind's, or metadata
	around    string // the key of the unstructured member that is written, or the kind
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// encode runs write on a pooled encoder that appends to dst.
func encode(dst []byte, write func(*encoder) error) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.buf = dst
	err := write(e)
	result := e.buf
	e.release()
	if err != nil {
		return dst, err
	}
	return result, nil
}

// release returns e to the pool. The caller must not use e afterwards.
func (e *encoder) release() {
	e.reset()
	encoders.Put(e)
}

// reset drops the references to the written value, and the space that only very large objects need.
func (e *encoder) reset() {
	e.dropMembers(0)
	kept := encoder{members: e.members, scratch: e.scratch[:0]}
	if cap(kept.scratch) > maxKept {
		kept.scratch = nil
	}
	if cap(kept.members) > maxKept/64 {
		kept.members = nil
	}
	*e = kept
}

// enter counts one level of nesting; leave must follow.
func (e *encoder) enter() error {
	if e.depth++; e.depth > maxDepth {
		return errTooDeep
	}
	return nil
}

func (e *encoder) leave() { e.depth-- }

// reflected writes a value of any Go type by its plan.
func (e *encoder) reflected(v any) error {
	value := reflect.ValueOf(v)
	p := planOf(value.Type(), false)
	if pointer, ok := p.(*pointerPlan); ok {
		return pointer.appendTarget(e, targetOf(value))
	}
	return p.append(e, targetOf(addressable(value).Addr()))
}

// addressable returns a copy of v that has an address.
func addressable(v reflect.Value) reflect.Value {
	holder := reflect.New(v.Type()).Elem()
	holder.Set(v)
	return holder
}

// truncateIf removes everything after mark if the text after from is exactly text, and reports whether
// it did.
func (e *encoder) truncateIf(mark, from int, text string) bool {
	if len(e.buf)-from != len(text) || string(e.buf[from:]) != text {
		return false
	}
	e.buf = e.buf[:mark]
	return true
}

func unsupported(t reflect.Type) error {
	return fmt.Errorf("cannot encode a value of type %s", t)
}

// pathError says where in a value it could not be encoded.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string {
	path := e.path
	if path[0] == '.' {
		path = path[1:]
	}
	return fmt.Sprintf("%s: %v", path, e.err)
}

func (e *pathError) Unwrap() error { return e.err }

func inMember(name string, err error) error { return within("."+name, err) }

func inItem(i int, err error) error { return within("["+strconv.Itoa(i)+"]", err) }

func inKey(key string, err error) error { return within("["+key+"]", err) }

func within(step string, err error) error {
	if errors.Is(err, errTooDeep) {
		return err // a path of ten thousand steps helps nobody
	}
	if inner, ok := errors.AsType[*pathError](err); ok {
		return &pathError{step + inner.path, inner.err}
	}
	return &pathError{step, err}
}

// A member is an entry of an object before sorting: its name, and either its text or the place of its
// text in the buffer, including the comma.
type member struct {
	name       string
	text       string
	plain      bool // whether the name is
	start, end int
}

// sortMembers sorts by name. Keys that differ in Go and not in JSON have no
// order and no JSON form.
func sortMembers(members []member) error {
	if len(members) > fewMembers {
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	} else {
		sortFew(members)
	}
	for i := 1; i < len(members); i++ {
		if members[i].name == members[i-1].name {
			return fmt.Errorf("two keys are %q in JSON", members[i].name)
		}
	}
	return nil
}

const fewMembers = 12

// sortFew sorts by insertion: most maps have three keys.
func sortFew(members []member) {
	for i := 1; i < len(members); i++ {
		m, to := members[i], i
		for ; to > 0 && m.name < members[to-1].name; to-- {
			members[to] = members[to-1]
		}
		members[to] = m
	}
}

func inOrder(members []member) bool {
	for i := 1; i < len(members); i++ {
		if members[i].name <= members[i-1].name {
			return false
		}
	}
	return true
}

// arrangement remembers where an object's members began.
type arrangement struct{ members, start int }

// begin opens an object whose members are written in any order, each between
// beginMember and endMember.
func (e *encoder) begin() arrangement {
	e.buf = append(e.buf, '{')
	return arrangement{len(e.members), len(e.buf)}
}

// beginMember writes a name, and returns the member that begins there and the place of its value.
func (e *encoder) beginMember(name string) (begun member, from int) {
	begun = member{name: name, start: len(e.buf)}
	e.buf = append(appendString(e.buf, name), ':')
	if len(e.buf)-begun.start != len(`"":`)+len(name) {
		begun.name = validUTF8(name) // the name was escaped
	}
	return begun, len(e.buf)
}

func (e *encoder) endMember(begun member) {
	e.buf = append(e.buf, ',')
	begun.end = len(e.buf)
	e.members = append(e.members, begun)
}

// arrange brings the members written since begin in order and closes the object.
func (e *encoder) arrange(from arrangement) error {
	members := e.members[from.members:]
	if !inOrder(members) {
		if err := sortMembers(members); err != nil {
			return err
		}
		at := len(e.scratch)
		e.scratch = append(e.scratch, e.buf[from.start:]...)
		e.buf = e.buf[:from.start]
		for _, m := range members {
			e.buf = append(e.buf, e.scratch[at+m.start-from.start:at+m.end-from.start]...)
		}
		e.scratch = e.scratch[:at]
	}
	e.dropMembers(from.members)
	e.closeObject()
	return nil
}

// dropMembers removes the members from the given place on, with their values.
func (e *encoder) dropMembers(from int) {
	clear(e.members[from:])
	e.members = e.members[:from]
}

// closeObject ends an object whose members each left a comma behind.
func (e *encoder) closeObject() {
	if last := len(e.buf) - 1; e.buf[last] == ',' {
		e.buf[last] = '}'
		return
	}
	e.buf = append(e.buf, '}')
}

func (e *encoder) textMember(name, text string) {
	begun, _ := e.beginMember(name)
	e.buf = appendString(e.buf, text)
	e.endMember(begun)
}
