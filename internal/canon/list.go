package canon

import (
	"cmp"
	"encoding/base64"
	"reflect"
	"strings"
)

// A pointerPlan reads the value behind a pointer.
type pointerPlan struct{ elem plan }

func (p *pointerPlan) append(e *encoder, v place) error { return p.appendTarget(e, v.target()) }

// appendTarget writes the value behind a pointer, or null if the pointer is nil.
func (p *pointerPlan) appendTarget(e *encoder, target place) error {
	if target.isNone() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	err := p.elem.append(e, target)
	e.leave()
	return err
}

// A listPlan reads a slice or an array. Whether two lists agree depends on the field that holds them: see
// mergeList.
type listPlan struct {
	elem   plan
	size   uintptr // of an item
	length int     // of an array
	slice  bool
	merge  MergeRule
}

// items finds the items of the list at v.
func (p *listPlan) items(v place) items {
	if p.slice {
		return v.items(p.size)
	}
	return items{v, p.length, p.size}
}

func (p *listPlan) append(e *encoder, v place) error {
	if p.slice && v.isNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	return p.appendItems(e, p.items(v))
}

func (p *listPlan) appendItems(e *encoder, list items) error {
	if err := e.enter(); err != nil {
		return err
	}
	e.buf = append(e.buf, '[')
	for i := range list.length {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := p.elem.append(e, list.at(i)); err != nil {
			return inItem(i, err)
		}
	}
	e.buf = append(e.buf, ']')
	e.leave()
	return nil
}

// bytesPlan reads a []byte, which is base64 in JSON.
type bytesPlan struct{}

func (bytesPlan) append(e *encoder, v place) error {
	if v.isNil() {
		e.buf = append(e.buf, "null"...)
		return nil
	}
	e.buf = appendBase64(e.buf, *as[[]byte](v))
	return nil
}

func appendBase64(dst, value []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, value)
	return append(dst, '"')
}

// A MergeRule says how the items of two lists are matched.
type MergeRule struct {
	Kind MergeKind
	Keys []MergeKey // of Keyed
}

// A MergeKind is a way to match items.
type MergeKind int

// The ways to match items.
const (
	Atomic MergeKind = iota // by their indexes, as many in both lists
	Keyed                   // by the values of the keys; live may have more
	Set                     // by value; live may have more
)

// A MergeKey is a member of a list's items that tells them apart.
type MergeKey struct {
	Name    string
	Default string // of the API server
}

// Text returns the value of the key in an item, with the default if there is none.
func (k *MergeKey) Text(value string) string { return cmp.Or(value, k.Default) }

// companions are the keys that the API server's schema has in addition to the
// one in the struct tag patchMergeKey: 53/TCP and 53/UDP are two ports.
var companions = map[string]MergeKey{
	"port":          {Name: "protocol", Default: "TCP"},
	"containerPort": {Name: "protocol", Default: "TCP"},
	"topologyKey":   {Name: "whenUnsatisfiable"},
}

// mergeList returns the first part of a plan for a field whose list the API server merges, or nil. The
// struct tags of API types mark such fields. The schema of a custom kind is not known here.
func mergeList(from *candidate) *listPlan {
	if !isAPI(from.declaredIn) || from.Type.Kind() != reflect.Slice || isBytes(from.Type) {
		return nil
	}
	if !strings.Contains(from.Tag.Get("patchStrategy"), "merge") {
		return nil
	}
	name := from.Tag.Get("patchMergeKey")
	if name == "" {
		return &listPlan{slice: true, size: from.Type.Elem().Size(), merge: MergeRule{Kind: Set}}
	}
	keys := appendKey(nil, from.Type.Elem(), MergeKey{Name: name})
	if len(keys) == 0 {
		return nil
	}
	if companion, ok := companions[name]; ok {
		keys = appendKey(keys, from.Type.Elem(), companion)
	}
	return &listPlan{slice: true, size: from.Type.Elem().Size(), merge: MergeRule{Kind: Keyed, Keys: keys}}
}

// appendKey appends key if item is a struct with such a member, of a kind that
// can be compared.
func appendKey(keys []MergeKey, item reflect.Type, key MergeKey) []MergeKey {
	if item.Kind() != reflect.Struct {
		return keys
	}
	for _, member := range jsonFields(item) {
		if member.name != key.Name {
			continue
		}
		switch member.Type.Kind() {
		case reflect.String, reflect.Int32, reflect.Int64, reflect.Int:
			return append(keys, key)
		}
	}
	return keys
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
