package canon

import (
	"reflect"
	"unsafe"
)

// A place is the address of a value whose type the plan knows. Only the first step of a walk, which
// takes the address from an interface or a pointer, looks at types.
//
// All uses of unsafe are in this file. Most fields of an API struct are empty, and finding that out by
// reflection costs more than everything else about such a field: a digest would take half as long again.
//
// The code is sound by the rules of package unsafe:
//
//   - A place is made from a Go pointer, or from another place by the offset of a field or an item, which
//     stays inside the same allocation (rule 3). A place is never an integer, so the value stays alive,
//     moves with its stack, and is not collected during a walk.
//   - A value is read as a type of the same layout (rule 1): a type with the same underlying type; a
//     pointer as an unsafe.Pointer; a slice as a []byte of which only the length and the place of the
//     items are used. Package reflect reads all other values.
//   - Nothing is written, and no place outlives its call, so sharing objects with a cache is as safe as
//     reading them.
//
// A plan holds the offsets, sizes and types of its own type, and only the callers of planOf combine a
// plan with a place. Tests run with the compiler's checks of such pointers (-race, or -d=checkptr).
type place struct{ address unsafe.Pointer }

// targetOf is where a value of kind Pointer points to.
func targetOf(pointer reflect.Value) place { return place{pointer.UnsafePointer()} }

// as reads the value as a T, which is the type of the value or has the same underlying type.
func as[T any](p place) *T { return (*T)(p.address) }

// isNone reports whether there is no value: a nil pointer was followed.
func (p place) isNone() bool { return p.address == nil }

// field is the place of a struct's field.
func (p place) field(offset uintptr) place { return place{unsafe.Add(p.address, offset)} }

// target is where the pointer at p points to.
func (p place) target() place { return place{*(*unsafe.Pointer)(p.address)} }

// isNil reports whether the pointer, map, slice or interface at p is nil: all of
// them begin with a pointer that is nil exactly then.
func (p place) isNil() bool { return *(*unsafe.Pointer)(p.address) == nil }

// wordSize is that of a pointer, and of the length in a string or slice.
const wordSize = unsafe.Sizeof(uintptr(0))

// isZeroWord reports whether all of the word at an offset is 0.
func (p place) isZeroWord(offset uintptr) bool {
	return *(*uintptr)(unsafe.Add(p.address, offset)) == 0
}

// items are those of the slice at p, each of the given size.
func (p place) items(size uintptr) items {
	slice := *(*[]byte)(p.address)
	return items{place{unsafe.Pointer(unsafe.SliceData(slice))}, len(slice), size}
}

// int reads a signed integer of the given size.
func (p place) int(size uintptr) int64 {
	switch size {
	case 1:
		return int64(*as[int8](p))
	case 2:
		return int64(*as[int16](p))
	case 4:
		return int64(*as[int32](p))
	default:
		return *as[int64](p)
	}
}

// uint reads an unsigned integer of the given size.
func (p place) uint(size uintptr) uint64 {
	switch size {
	case 1:
		return uint64(*as[uint8](p))
	case 2:
		return uint64(*as[uint16](p))
	case 4:
		return uint64(*as[uint32](p))
	default:
		return *as[uint64](p)
	}
}

// value returns the value, which is of type t, as a reflect.Value.
func (p place) value(t reflect.Type) reflect.Value { return reflect.NewAt(t, p.address).Elem() }

// pointer returns a *t to the value, for the methods of t.
func (p place) pointer(t reflect.Type) any { return reflect.NewAt(t, p.address).Interface() }

// items are the values of a list.
type items struct {
	first  place
	length int
	size   uintptr
}

// itemsOf are the items of a slice of a known type.
func itemsOf[T any](slice []T) items {
	first := unsafe.SliceData(slice)
	return items{place{unsafe.Pointer(first)}, len(slice), unsafe.Sizeof(*first)}
}

// at is the place of one item.
func (l items) at(i int) place { return l.first.field(uintptr(i) * l.size) }

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
