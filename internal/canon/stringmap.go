package canon

import "reflect"

// stringMapPlan reads a map[string]string: labels, annotations, a ConfigMap's
// data. It is by far the most frequent map and needs no reflection.
type stringMapPlan struct{}

func stringMap(v reflect.Value) map[string]string {
	return *v.Addr().Interface().(*map[string]string)
}

func (stringMapPlan) null(v reflect.Value) bool { return v.IsNil() }

func (stringMapPlan) append(e *encoder, v reflect.Value) error {
	if v.IsNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	return e.stringMap(stringMap(v), isAny)
}

// stringMap writes what there is in a map under the keys that keep names.
func (e *encoder) stringMap(m map[string]string, keep func(string) bool) error {
	from := len(e.members)
	for key, text := range m {
		if keep(key) {
			e.members = append(e.members, member{name: valid(key), text: text})
		}
	}
	members := e.members[from:]
	if err := sortMembers(members); err != nil {
		return err
	}
	e.buf = append(e.buf, '{')
	for i := range members {
		e.buf = append(appendString(e.buf, members[i].name), ':')
		e.buf = append(appendString(e.buf, members[i].text), ',')
	}
	e.closeObject()
	e.members = e.members[:from]
	return nil
}

func (stringMapPlan) satisfies(_ *comparison, live, desired reflect.Value) bool {
	return stringMapSatisfied(stringMap(live), stringMap(desired))
}

func stringMapSatisfied(live, desired map[string]string) bool {
	for key, text := range desired {
		found, ok := live[key]
		if !ok {
			found, ok = live[valid(key)]
		}
		if !ok || !sameText(found, text) {
			return false
		}
	}
	return true
}
