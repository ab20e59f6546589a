package canon

import (
	"encoding/json"
	"reflect"
	"slices"

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

// Tree returns the content, labels, annotations (including digests), owner references and finalizers of
// obj as JSON values in canonical form, numbers as json.Number. explicit includes empty values that are
// statements.
func Tree(obj Object, explicit bool) (Shape, map[string]any, error) {
	c, err := read(obj)
	if err != nil {
		return Shape{}, nil, err
	}
	return tree(c, parts{metadata: true, digests: true, explicit: explicit})
}

// tree writes the parts of c and reads them back. Only the rare paths of a pass, which find differences
// or write, can afford that.
func tree(c content, p parts) (Shape, map[string]any, error) {
	text, err := encode(nil, func(e *encoder) error { return e.object(&c, &p) })
	if err != nil {
		return Shape{}, nil, err
	}
	parsed, err := parseJSON(text)
	if err != nil {
		return Shape{}, nil, err
	}
	top := Shape{root: true}
	if c.plan != nil {
		top.plan = c.plan
	}
	return top, parsed.(map[string]any), nil
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
	if s.root && name == "metadata" {
		return Shape{plan: planOf(reflect.TypeFor[metav1.ObjectMeta](), true), field: true}, name
	}
	switch p := resolve(s.plan).(type) {
	case *structPlan:
		return p.member(name), paths.Member(parent, name)
	case *mapPlan:
		return Shape{plan: p.elem}, paths.Item(parent, name)
	case stringMapPlan:
		return Shape{plan: stringPlan{}}, paths.Item(parent, name)
	}
	return Shape{}, paths.MemberOrKey(parent, name)
}

func (p *structPlan) member(name string) Shape {
	for i := range p.fields {
		if p.fields[i].name == name {
			return Shape{plan: p.fields[i].plan, field: true}
		}
	}
	return Shape{}
}

// MayHave reports whether the object may have a member with this name.
func (s Shape) MayHave(name string) bool {
	p, isStruct := resolve(s.plan).(*structPlan)
	return !isStruct || s.root && name == "metadata" ||
		slices.ContainsFunc(p.fields, func(f field) bool { return f.name == name })
}

// Items returns the shape of a list's items and how they are matched.
func (s Shape) Items() (Shape, MergeRule) {
	if p, ok := resolve(s.plan).(*listPlan); ok {
		return Shape{plan: p.elem}, p.merge
	}
	return Shape{}, MergeRule{}
}

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

// Shown returns the text of v if v is a number or a boolean. Any other value could be a secret.
func (s Shape) Shown(v any) string {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	case string:
		if _, ok := resolve(s.plan).(quantityPlan); ok {
			return v
		}
	}
	return ""
}

// SortedNames returns the names of the members of objects, each once.
func SortedNames(objects ...map[string]any) []string {
	var names []string
	for _, object := range objects {
		for name := range object {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
