package canon

import (
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/paths"
)

// A Shape is what the Go type of an object says about a place in its JSON: how lists are matched, and
// whether empty and absent are the same. The zero Shape is that of a place whose type is not known.
type Shape struct {
	plan  plan
	root  bool
	field bool // of a Go struct
}

// ShapeOf returns the shape of the objects of a Go type, a pointer to a struct or the struct; nil: of objects without one.
func ShapeOf(t reflect.Type) Shape {
	if t == nil {
		return Shape{root: true}
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return Shape{plan: planOf(t, true), root: true}
}

// SameType reports whether a and b have the same Go type.
func SameType(a, b Object) bool { return reflect.TypeOf(unedited(a)) == reflect.TypeOf(unedited(b)) }

// Member returns the shape and the path of a member of the object at parent.
func (s Shape) Member(parent, name string) (Shape, string) {
	inner := s.inner([]byte(name))
	if s.root && name == "metadata" {
		return inner, name
	}
	switch resolve(s.plan).(type) {
	case *structPlan:
		return inner, paths.Member(parent, name)
	case *mapPlan, stringMapPlan:
		return inner, paths.Item(parent, name)
	}
	return inner, paths.MemberOrKey(parent, name)
}

// inner returns the shape of a member.
func (s Shape) inner(name []byte) Shape {
	if s.root && string(name) == "metadata" {
		return Shape{plan: metadataPlan(), field: true}
	}
	switch p := resolve(s.plan).(type) {
	case *structPlan:
		for i := range p.fields {
			if p.fields[i].name == string(name) {
				return Shape{plan: p.fields[i].plan, field: true}
			}
		}
	case *mapPlan:
		return Shape{plan: p.elem}
	case stringMapPlan:
		return Shape{plan: stringPlan{}}
	}
	return Shape{}
}

var metadataPlan = sync.OnceValue(func() plan { return planOf(reflect.TypeFor[metav1.ObjectMeta](), true) })

// MayHave reports whether the object may have a member with this name.
func (s Shape) MayHave(name string) bool {
	p, isStruct := resolve(s.plan).(*structPlan)
	return !isStruct || s.root && name == "metadata" ||
		slices.ContainsFunc(p.fields, func(f field) bool { return f.name == name })
}

// Items returns the shape of a list's items and how they are matched.
func (s Shape) Items() (Shape, *MergeRule) {
	if p, ok := resolve(s.plan).(*listPlan); ok {
		return Shape{plan: p.elem}, &p.merge
	}
	return Shape{}, &atomic
}

var atomic MergeRule

// IsList reports whether the place holds a list of a Go type.
func (s Shape) IsList() bool {
	_, ok := resolve(s.plan).(*listPlan)
	return ok
}

// IsMap reports whether the place holds a map of a Go type, other than one of strings.
func (s Shape) IsMap() bool {
	_, ok := resolve(s.plan).(*mapPlan)
	return ok
}

// IsField reports whether the place is a field of a Go struct, and neither an item of a list nor a key of a map.
func (s Shape) IsField() bool { return s.field }

// IsUnknown reports whether no Go type says what the place holds.
func (s Shape) IsUnknown() bool { return s.plan == nil }

// IsAlwaysThere reports whether the place is a struct field that holds a map or a struct: there, empty
// and absent are the same.
func (s Shape) IsAlwaysThere() bool {
	switch s.plan.(type) {
	case *structPlan, *mapPlan, stringMapPlan:
		return s.field
	}
	return false
}

// Shown returns the text of a number or a boolean. Any other value could be a secret.
func (s Shape) Shown(r Raw) string {
	switch {
	case len(r) == 0:
		return ""
	case r.isNumber() || r.isBool():
		return string(r)
	}
	if _, ok := resolve(s.plan).(quantityPlan); ok {
		return r.Text()
	}
	return ""
}
