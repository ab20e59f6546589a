package canon

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Raw is the text of a value in canonical form; nil if there is no value. The text has no white space, and the members of
// an object are in the order of their names. So two values are equal if their texts are, and most of two objects that are
// compared need not be parsed.
type Raw []byte

// usualSize is a size, in bytes, that most objects do not exceed.
const usualSize = 2 << 10

// Form returns the content, labels, annotations (including digests), owner references and finalizers of obj in canonical
// form, appended to dst, and their shape. explicit includes empty values that are statements.
func Form(dst []byte, obj Object, explicit bool) (Shape, Raw, error) {
	c, err := read(obj)
	if err != nil {
		return Shape{}, nil, err
	}
	return form(dst, &c, &parts{metadata: true, digests: true, explicit: explicit})
}

// form appends the parts of c to dst.
func form(dst []byte, c *content, p *parts) (Shape, Raw, error) {
	if dst == nil {
		dst = make([]byte, 0, usualSize)
	}
	text, err := encode(dst, func(e *encoder) error { return e.object(c, p) })
	if err != nil {
		return Shape{}, nil, err
	}
	top := Shape{root: true}
	if c.plan != nil {
		top.plan = c.plan
	}
	return top, text, nil
}

// IsObject reports whether the value is an object.
func (r Raw) IsObject() bool { return len(r) > 0 && r[0] == '{' }

// IsList reports whether the value is a list.
func (r Raw) IsList() bool { return len(r) > 0 && r[0] == '[' }

// HasItems reports whether the value is a list with items.
func (r Raw) HasItems() bool { return r.IsList() && r[1] != ']' }

// Value returns the value as encoding/json reads it, with numbers as json.Number; nil if there is none.
func (r Raw) Value() any {
	if r == nil {
		return nil
	}
	value, _ := parseJSON(r) // is well-formed
	return value
}

// Text returns the text of a string or a number, and "" for other values.
func (r Raw) Text() string { return string(r.text()) }

func (r Raw) text() []byte {
	switch {
	case len(r) == 0:
		return nil
	case r[0] == '"':
		return unquoted(r)
	case r.isNumber():
		return r
	}
	return nil
}

func (r Raw) isNumber() bool { return r[0] == '-' || '0' <= r[0] && r[0] <= '9' }

func (r Raw) isBool() bool { return r[0] == 't' || r[0] == 'f' }

// unquoted returns the content of a JSON string.
func unquoted(quoted []byte) []byte {
	inside := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	if plain, ok := unescaped(inside); ok {
		return plain
	}
	var content string
	_ = json.Unmarshal(quoted, &content) // is well-formed
	return []byte(content)
}

// unescaped returns a text without the escapes of quotes and backslashes, and false if there are others.
func unescaped(text []byte) (_ []byte, ok bool) {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			if i++; text[i] != '"' && text[i] != '\\' {
				return nil, false
			}
		}
		plain = append(plain, text[i])
	}
	return plain, true
}

// end returns where the value that begins at i ends.
func (r Raw) end(i int) int {
	switch r[i] {
	case '"':
		return r.endOfString(i)
	case '{', '[':
		return r.endOfParts(i)
	}
	for i < len(r) && r[i] != ',' && r[i] != '}' && r[i] != ']' {
		i++
	}
	return i
}

// endOfParts returns where the object or list that begins at i ends.
func (r Raw) endOfParts(i int) int {
	for depth := 0; ; i++ {
		switch r[i] {
		case '"':
			i = r.endOfString(i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// endOfString returns where the string that begins at i ends. A quote inside has an odd number of backslashes before it.
func (r Raw) endOfString(i int) int {
	for {
		i += 1 + bytes.IndexByte(r[i+1:], '"')
		backslashes := 0
		for r[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i + 1
		}
	}
}

// Members reads the members of an object in their order.
type Members struct {
	// Name and Value are those of the current member.
	Name  []byte
	Value Raw

	rest   Raw  // begins with the name of the next member, or with the end of the object
	isNext bool // Name and Value are those of the next member
}

// Members returns the members of the value, before the first one. A value that is no object has none.
func (r Raw) Members() Members {
	if !r.IsObject() {
		return Members{}
	}
	return Members{rest: r[1:]}
}

// Next goes to the next member, and reports whether there is one.
func (m *Members) Next() bool {
	if m.isNext {
		m.isNext = false
		return true
	}
	if len(m.rest) == 0 || m.rest[0] == '}' {
		return false
	}
	name := m.rest.endOfString(0)
	value := m.rest.end(name + 1)
	m.Name, m.Value = unquoted(m.rest[:name]), m.rest[name+1:value:value]
	m.rest = m.rest[value:]
	if m.rest[0] == ',' {
		m.rest = m.rest[1:]
	}
	return true
}

// Current returns the current member alone, before it, as if the object had no other.
func (m *Members) Current() Members { return Members{Name: m.Name, Value: m.Value, isNext: true} }

// Find goes to the member of that name of object, whose members m reads, and returns its value; nil, without a step, if there
// is none. Where two objects have their members in the same order, each is found at once.
func (m *Members) Find(object Raw, name []byte) Raw {
	next := *m
	if next.Next() && bytes.Equal(next.Name, name) {
		*m = next
		return next.Value
	}
	for next = object.Members(); next.Next(); {
		if bytes.Equal(next.Name, name) {
			*m = next
			return next.Value
		}
	}
	return nil
}

// Member returns the value of the member with the name, or nil.
func (r Raw) Member(name string) Raw {
	for m := r.Members(); m.Next(); {
		if string(m.Name) == name {
			return m.Value
		}
	}
	return nil
}

// AppendItems appends the items of a list to items.
func (r Raw) AppendItems(items []Raw) []Raw {
	if !r.IsList() {
		return items
	}
	for i := 1; r[i] != ']'; {
		end := r.end(i)
		items = append(items, r[i:end:end])
		if i = end; r[i] == ',' {
			i++
		}
	}
	return items
}

// ListOf returns a list with the items.
func ListOf(items []Raw) Raw {
	list := []byte{'['}
	for i, item := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, item...)
	}
	return append(list, ']')
}

// With returns the object with a member of that name and value, or without such a member if the value is nil. A value that is
// no object counts as empty.
func (r Raw) With(name string, value Raw) Raw {
	object := []byte{'{'}
	add := func(name string, value Raw) {
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(appendString(object, name), ':'), value...)
	}
	for m := r.Members(); m.Next(); {
		order := strings.Compare(string(m.Name), name)
		if order >= 0 && value != nil {
			add(name, value)
			value = nil
		}
		if order != 0 {
			add(string(m.Name), m.Value)
		}
	}
	if value != nil {
		add(name, value)
	}
	return append(object, '}')
}
