package canon

import "reflect"

// structPlan reads a struct: its members, ordered by name.
type structPlan struct {
	fields []field
	secret bool // whether it is the API's Secret
}

// field is one member of a struct.
type field struct {
	name  string
	token string // the name as it is written, quotes and colon included
	index int    // the Go field's place in the struct,
	inner []int  // and from there through embedded structs
	plan  plan

	omit omission
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
	// Behind an embedded pointer everything can be addressed.
	for _, i := range from.path[:len(from.path)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			t, addressable = t.Elem(), true
		}
	}
	f := field{
		name:  from.name,
		token: string(append(appendString(nil, from.name), ':')),
		index: from.path[0],
		inner: from.path[1:],
		plan:  c.memberPlan(from, addressable),
		omit:  omissionOf(from, addressable),
	}
	if isAPI(from.declaredIn) && from.Type.Kind() == reflect.Struct {
		f.dropBare = from.Type != selectorType || from.has("omitempty")
	}
	return f
}

// value finds the field in v; false if it is behind an embedded nil pointer.
func (f *field) value(v reflect.Value) (reflect.Value, bool) {
	v = v.Field(f.index)
	if len(f.inner) == 0 {
		return v, true
	}
	for _, i := range f.inner {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

func (*structPlan) null(reflect.Value) bool { return false }

func (p *structPlan) append(e *encoder, v reflect.Value) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	e.buf = append(e.buf, '{')
	for i := range p.fields {
		if err := p.fields[i].append(e, v); err != nil {
			return err
		}
	}
	e.closeObject()
	return nil
}

// append writes the member and the comma after it, or nothing.
func (f *field) append(e *encoder, holder reflect.Value) error {
	v, ok := f.value(holder)
	if !ok || f.omit.applies(v) {
		return nil
	}
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

func (p *structPlan) satisfies(c *comparison, live, desired reflect.Value) bool {
	if !c.enter() {
		return false
	}
	defer c.leave()
	for i := range p.fields {
		if !p.fields[i].satisfies(c, live, desired) {
			return false
		}
	}
	return true
}

func (f *field) satisfies(c *comparison, live, desired reflect.Value) bool {
	d, ok := f.value(desired)
	if !ok || f.omit.applies(d) || f.plan.null(d) {
		return true
	}
	l, ok := f.value(live)
	return ok && f.plan.satisfies(c, l, d)
}
