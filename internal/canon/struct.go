package canon

import "reflect"

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

func (*structPlan) null(place) bool { return false }

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
