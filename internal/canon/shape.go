package canon

import (
	"encoding/json"
	"reflect"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A shape is the plan of the Go value from which a place in an object's JSON was written, or nothing.
// It gives each place its path and says how lists are matched. Only walks that run after a difference
// was found need shapes, so they can afford to read the canonical form back.
type shape struct {
	plan  plan
	root  bool
	field bool // of a Go struct
}

// tree writes the parts of c and reads them back as JSON, numbers as
// json.Number.
func tree(c content, p parts) (shape, map[string]any, error) {
	text, err := encode(nil, func(e *encoder) error { return e.object(&c, &p) })
	if err != nil {
		return shape{}, nil, err
	}
	parsed, err := parseJSON(text)
	if err != nil {
		return shape{}, nil, err
	}
	top := shape{root: true}
	if c.plan != nil {
		top.plan = c.plan
	}
	return top, parsed.(map[string]any), nil
}

// member returns the shape and the path of a member of the object at path.
func (s shape) member(path, name string) (shape, string) {
	if s.root && name == "metadata" {
		return shape{plan: planOf(reflect.TypeFor[metav1.ObjectMeta](), true), field: true}, name
	}
	switch p := resolve(s.plan).(type) {
	case *structPlan:
		for i := range p.fields {
			if p.fields[i].name == name {
				return shape{plan: p.fields[i].plan, field: true}, join(path, name)
			}
		}
		return shape{}, join(path, name)
	case *mapPlan:
		return shape{plan: p.elem}, path + "[" + name + "]"
	case stringMapPlan:
		return shape{plan: stringPlan{}}, path + "[" + name + "]"
	}
	if strings.ContainsAny(name, "./[]=, ") || name == "" {
		return shape{}, path + "[" + name + "]"
	}
	return shape{}, join(path, name)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// items returns the shape of a list's items and how they are matched.
func (s shape) items() (shape, mergeRule) {
	if p, ok := resolve(s.plan).(*listPlan); ok {
		return shape{plan: p.elem}, p.merge
	}
	return shape{}, mergeRule{}
}

// isAlwaysThere reports whether the place is a struct field that holds a map or a struct: there, empty
// and absent are the same.
func (s shape) isAlwaysThere() bool {
	switch s.plan.(type) {
	case *structPlan, *mapPlan, stringMapPlan:
		return s.field
	}
	return false
}

// isMap reports whether the place holds a map of a Go type.
func (s shape) isMap() bool {
	_, ok := resolve(s.plan).(*mapPlan)
	return ok
}

// resolve follows pointers.
func resolve(p plan) plan {
	for {
		pointer, ok := p.(*pointerPlan)
		if !ok {
			return p
		}
		p = pointer.elem
	}
}

// shown returns the text of v if v is a number or a boolean. Any other value could be a secret.
func (s shape) shown(v any) string {
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

// label names an item of a merged list: `name=app`, or a set's member.
func (r *mergeRule) label(item any) string {
	if r.kind == set {
		return text(item)
	}
	members, _ := item.(map[string]any)
	var parts []string
	for _, key := range r.keys {
		value := key.text(text(members[key.name]))
		if value != "" || len(r.keys) == 1 {
			parts = append(parts, key.name+"="+value)
		}
	}
	return strings.Join(parts, ",")
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		return ""
	}
}

func sortedNames(maps ...map[string]any) []string {
	seen := map[string]bool{}
	var names []string
	for _, m := range maps {
		for name := range m {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	sort.Strings(names)
	return names
}
