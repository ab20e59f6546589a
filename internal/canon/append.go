package canon

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// maxDepth bounds how deeply values may nest, so that a cycle of pointers is an
// error and not the end of the process. encoding/json reads no deeper either.
const maxDepth = 10_000

// maxKept is the scratch space, in bytes, that a pooled encoder keeps.
const maxKept = 64 << 10

var errTooDeep = errors.New("nested too deeply, or in a cycle")

// Append appends the canonical form of v, any API value, to dst.
//
// An Object, or a struct to which an Object points, is appended as by AppendObject, and any other value
// by the rules of the package. A value without a JSON form (a channel, a function, NaN, a cycle of
// pointers) is an error, and dst is returned unchanged.
func Append(dst []byte, v any) ([]byte, error) {
	if obj, ok := asObject(v); ok {
		return AppendObject(dst, obj)
	}
	return encode(dst, func(e *encoder) error { return e.any(v) })
}

func asObject(v any) (Object, bool) {
	if obj, ok := v.(Object); ok {
		return obj, true
	}
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Struct || !reflect.PointerTo(t).Implements(objectType) {
		return nil, false
	}
	return addressable(reflect.ValueOf(v)).Addr().Interface().(Object), true
}

var objectType = reflect.TypeFor[Object]()

// encoder is the state of one walk: the bytes written so far and the scratch
// space that maps need to bring their members in order.
type encoder struct {
	buf     []byte
	depth   int
	members []member
	scratch []byte

	explicit  bool // empty values that are statements are written
	isBuiltIn bool // unstructured content is a built-in kind's, or metadata
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
