package canon

import "reflect"

// location is where a field is in a struct.
type location struct {
	offset uintptr
	// behind are the offsets from there through embedded pointers, each in the
	// struct that the one before points to.
	behind []uintptr
}

// locate finds the field at the end of path, which leads through embedded
// structs and pointers to them.
func locate(t reflect.Type, path []int) location {
	offsets := []uintptr{0}
	for _, i := range path {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
			offsets = append(offsets, 0)
		}
		field := t.Field(i)
		offsets[len(offsets)-1] += field.Offset
		t = field.Type
	}
	return location{offset: offsets[0], behind: offsets[1:]}
}

// in finds the field in the struct at holder; false if it is behind an embedded
// nil pointer.
func (l *location) in(holder place) (place, bool) {
	v := holder.field(l.offset)
	for _, offset := range l.behind {
		if v.isNil() {
			return v, false
		}
		v = v.target().field(offset)
	}
	return v, true
}
