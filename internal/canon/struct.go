package canon

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// structPlan reads a struct: its members, ordered by name.
type structPlan struct {
	fields []field
	secret bool // whether it is the API's Secret
	env    *env // if it is the API's EnvVar
}

// field is one member of a struct.
type field struct {
	location
	omit  omission
	plan  plan
	token string // the name as it is written, quotes and colon included
	name  string
	// dropBare leaves out a value whose canonical form is {}.
	dropBare bool
}

// fields compiles the members of the struct t.
func (c compiler) fields(t reflect.Type, addressable bool) []field {
	candidates := jsonFields(t)
	fields := make([]field, 0, len(candidates))
	for i := range candidates {
		fields = append(fields, c.field(t, &candidates[i], addressable))
	}
	return fields
}

func (c compiler) field(t reflect.Type, from *candidate, addressable bool) field {
	holder := t
	// Behind an embedded pointer everything can be addressed.
	for _, i := range from.path[:len(from.path)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			t, addressable = t.Elem(), true
		}
	}
	f := field{
		name:  from.name,
		token: string(append(appendString(nil, from.name), ':')),
		plan:  c.memberPlan(from, addressable),
		omit:  omissionOf(from, addressable),

		location: locate(holder, from.path),
	}
	if isAPI(from.declaredIn) && from.Type.Kind() == reflect.Struct {
		f.dropBare = from.Type != selectorType || from.has("omitempty")
	}
	return f
}

func (p *structPlan) append(e *encoder, v place) error {
	if err := e.enter(); err != nil {
		return err
	}
	e.buf = append(e.buf, '{')
	statesValue := e.explicit && p.env.isEmpty(v)
	for i := range p.fields {
		f := &p.fields[i]
		value, ok := f.in(v)
		if !ok || f.omit.applies(value) && !(statesValue && f.name == "value") {
			continue
		}
		if err := f.append(e, value); err != nil {
			return err
		}
	}
	e.closeObject()
	e.leave()
	return nil
}

// append writes the member and the comma after it, or nothing.
func (f *field) append(e *encoder, v place) error {
	mark := len(e.buf)
	e.buf = append(e.buf, f.token...)
	start := len(e.buf)
	if err := f.plan.append(e, v); err != nil {
		return inMember(f.name, err)
	}
	if e.truncateIf(mark, start, "null") || f.dropBare && e.truncateIf(mark, start, "{}") {
		return nil
	}
	e.buf = append(e.buf, ',')
	return nil
}

// candidate is a struct field on its way to become a member: encoding/json's
// rules decide which of several with the same name it is.
type candidate struct {
	reflect.StructField
	declaredIn reflect.Type
	name       string
	options    []string
	path       []int
	tagged     bool
}

func (c *candidate) has(option string) bool { return slices.Contains(c.options, option) }

// jsonFields lists the members that encoding/json writes of the struct t,
// ordered by name. Embedded structs without a name are read breadth first; of
// several fields with one name the shallowest wins, then the tagged one, and if
// two are left neither is a member.
func jsonFields(t reflect.Type) []candidate {
	var found []candidate
	level := []embedded{{goType: t}}
	visited := map[reflect.Type]bool{}
	for len(level) > 0 {
		var deeper []embedded
		times := map[reflect.Type]int{}
		for _, e := range level {
			times[e.goType]++
		}
		for _, e := range level {
			if visited[e.goType] {
				continue
			}
			visited[e.goType] = true
			fields, structs := e.read()
			found = append(found, fields...)
			if times[e.goType] > 1 {
				found = append(found, fields...) // twice on one level: they hide each other
			}
			deeper = append(deeper, structs...)
		}
		level = deeper
	}
	return dominant(found)
}

// embedded is a struct whose fields are read as its holder's.
type embedded struct {
	goType reflect.Type
	path   []int
}

func (e embedded) read() (fields []candidate, structs []embedded) {
	for i := range e.goType.NumField() {
		field := e.goType.Field(i)
		tag := field.Tag.Get("json")
		inner := field.Type
		if inner.Name() == "" && inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		isStruct := inner.Kind() == reflect.Struct
		if tag == "-" || !field.IsExported() && !(field.Anonymous && isStruct) {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = ""
		}
		path := append(slices.Clone(e.path), i)
		if name == "" && field.Anonymous && isStruct {
			structs = append(structs, embedded{inner, path})
			continue
		}
		fields = append(fields, candidate{
			StructField: field,
			declaredIn:  e.goType,
			name:        cmp.Or(name, field.Name),
			options:     strings.Split(options, ","),
			path:        path,
			tagged:      name != "",
		})
	}
	return fields, structs
}

func dominant(found []candidate) []candidate {
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(len(a.path), len(b.path)), byTag(a, b))
	})
	var members []candidate
	for len(found) > 0 {
		first := found[0]
		rivals := 1
		for rivals < len(found) && found[rivals].name == first.name {
			rivals++
		}
		tied := rivals > 1 && len(found[1].path) == len(first.path) && found[1].tagged == first.tagged
		if !tied {
			members = append(members, first)
		}
		found = found[rivals:]
	}
	return members
}

func byTag(a, b candidate) int {
	switch {
	case a.tagged == b.tagged:
		return 0
	case a.tagged:
		return -1
	default:
		return 1
	}
}

// validName reports whether encoding/json takes name from a tag.
func validName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}

// An env is where the API's EnvVar has its value.
//
// An environment variable without a value has the empty one: the API knows no absent value. So bodies and
// comparisons contain an empty value, unless valueFrom is set. The digest of a typed object does not, as
// it contains no empty text.
type env struct{ value, valueFrom location }

// envOf returns nil for all other structs. The type is known by its name only, as Secret is.
func envOf(t reflect.Type) *env {
	if t.Name() != "EnvVar" || t.PkgPath() != "k8s.io/api/core/v1" {
		return nil
	}
	at := func(name string) location {
		field, _ := t.FieldByName(name)
		return locate(t, field.Index)
	}
	return &env{value: at("Value"), valueFrom: at("ValueFrom")}
}

// isEmpty reports whether the variable at v has the empty value.
func (e *env) isEmpty(v place) bool {
	if e == nil {
		return false
	}
	value, _ := e.value.in(v)
	from, _ := e.valueFrom.in(v)
	return *as[string](value) == "" && from.isNil()
}
