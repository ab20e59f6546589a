package obstacle_test

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// A chooser makes the choices of a test: a seeded source of random numbers, or the bytes of the fuzzer.
type chooser interface{ IntN(n int) int }

// choices are the bytes of the fuzzer. Once they are used up, the first possibility is always the choice.
type choices []byte

func (c *choices) IntN(n int) int {
	if len(*c) == 0 {
		return 0
	}
	choice := int((*c)[0]) % n
	*c = (*c)[1:]
	return choice
}

func isOneIn(n int, c chooser) bool { return c.IntN(n) == n-1 }

func someOf[T any](c chooser, all []T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(T) bool { return !isOneIn(2, c) })
}

// someKind returns a type of objects, which have a spec and nothing else.
func someKind(c chooser) typed.ParseableType {
	spec := schema.StructField{Name: "spec", Type: inlined(someStruct(c, 3))}
	return typed.ParseableType{Schema: &schema.Schema{}, TypeRef: inlined(&schema.Map{Fields: []schema.StructField{spec}})}
}

// someObject returns an object with parts of an old one, which may be nil.
func someObject(c chooser, kind typed.ParseableType, old map[string]any) map[string]any {
	return map[string]any{"spec": someMembers(c, typeOf(kind.TypeRef.Inlined.Map, "spec").Inlined.Map, old["spec"])}
}

func inlined(m *schema.Map) schema.TypeRef { return schema.TypeRef{Inlined: schema.Atom{Map: m}} }

func someStruct(c chooser, depth int, keys ...string) *schema.Map {
	number := schema.Numeric
	members := &schema.Map{ElementRelationship: schema.Separable}
	for _, key := range keys {
		members.Fields = append(members.Fields, schema.StructField{Name: key, Type: schema.TypeRef{Inlined: schema.Atom{Scalar: &number}}})
	}
	for _, name := range []string{"a", "b", "c"}[c.IntN(3):] {
		members.Fields = append(members.Fields, schema.StructField{Name: name, Type: someType(c, depth-1)})
	}
	return members
}

// someType returns a type of at most this depth. The values of maps are no structs: managed fields do not tell a key
// of a map from a field of a struct, which the API server keeps as long as somebody owns a field inside.
func someType(c chooser, depth int) schema.TypeRef {
	number := schema.Numeric
	scalar := schema.TypeRef{Inlined: schema.Atom{Scalar: &number}}
	list := func(relationship schema.ElementRelationship, item schema.TypeRef, keys ...string) schema.TypeRef {
		return schema.TypeRef{Inlined: schema.Atom{List: &schema.List{ElementRelationship: relationship, ElementType: item, Keys: keys}}}
	}
	if depth == 0 {
		return scalar
	}
	switch c.IntN(8) {
	case 1:
		return inlined(someStruct(c, depth))
	case 2:
		return inlined(&schema.Map{ElementRelationship: schema.Separable, ElementType: scalar})
	case 3:
		return inlined(&schema.Map{ElementRelationship: schema.Atomic, ElementType: someType(c, depth-1)})
	case 4:
		return list(schema.Associative, inlined(someStruct(c, depth, "port")), "port")
	case 5:
		return list(schema.Associative, inlined(someStruct(c, depth, "port", "protocol")), "port", "protocol")
	case 6:
		return list(schema.Associative, scalar)
	case 7:
		return list(schema.Atomic, someType(c, depth-1))
	}
	return scalar
}

// typeOf returns the type of a member.
func typeOf(t *schema.Map, name string) schema.TypeRef {
	if field, ok := t.FindField(name); ok {
		return field.Type
	}
	return t.ElementType
}

// someValue returns a value of a type, with parts of an old one, which may be nil.
func someValue(c chooser, t schema.TypeRef, old any) any {
	switch of := t.Inlined; {
	case old != nil && isOneIn(2, c):
		return old
	case of.Map != nil:
		return someMembers(c, of.Map, old)
	case of.List != nil:
		return someItems(c, of.List, old)
	}
	return int64(c.IntN(3))
}

func someMembers(c chooser, t *schema.Map, old any) any {
	names := []string{"a", "b/c", "d~e"}
	if len(t.Fields) > 0 {
		names = nil
	}
	for _, field := range t.Fields {
		names = append(names, field.Name)
	}
	before, _ := old.(map[string]any)
	members := map[string]any{}
	for _, name := range names {
		had, isOld := before[name]
		if isOld && !isOneIn(4, c) || !isOld && isOneIn(2, c) {
			members[name] = someValue(c, typeOf(t, name), had)
		}
	}
	return members
}

// someItems returns items in some order, most of them with the keys of old ones. A list with keys is never empty: nobody
// owns such a list, so that whether the API server removes it depends on what is beside it.
func someItems(c chooser, t *schema.List, old any) any {
	before, _ := old.([]any)
	items := []any{}
	first, step := c.IntN(4), 1+2*c.IntN(2)
	for i := range 4 {
		key := (first + step*i) % 4
		at := slices.IndexFunc(before, func(item any) bool { return keyOf(item) == key })
		isLast := i == 3 && len(items) == 0
		switch isChanged := isOneIn(3, c); {
		case at >= 0 && (!isChanged || isLast):
			items = append(items, withKey(t, someValue(c, t.ElementType, before[at]), key))
		case at < 0 && (isChanged || isLast):
			items = append(items, withKey(t, someValue(c, t.ElementType, nil), key))
		}
	}
	if t.ElementRelationship == schema.Atomic {
		return someOf(c, items)
	}
	return items
}

// withKey returns an item with a key among four.
func withKey(t *schema.List, item any, key int) any {
	switch {
	case t.ElementRelationship == schema.Atomic:
		return item
	case len(t.Keys) == 0:
		return int64(key)
	}
	members := maps.Clone(item.(map[string]any))
	members["port"] = int64(key)
	if len(t.Keys) == 2 {
		members["port"], members["protocol"] = int64(key%2), int64(key/2)
	}
	return members
}

func keyOf(item any) int {
	if number, ok := item.(int64); ok {
		return int(number)
	}
	members, _ := item.(map[string]any)
	port, _ := members["port"].(int64)
	protocol, _ := members["protocol"].(int64)
	return int(port + 2*protocol)
}
