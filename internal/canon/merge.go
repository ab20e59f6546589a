package canon

import (
	"reflect"
	"strings"
)

// mergeRule says how the items of two lists are matched.
type mergeRule struct {
	kind mergeKind
	keys []mergeKey
}

type mergeKind int

const (
	atomic mergeKind = iota // item by item, and as many
	keyed                   // by the values of the keys; live may hold more
	set                     // by value; live may hold more
)

// mergeKey is a member of a list's items that tells them apart.
type mergeKey struct {
	name     string
	fallback string // the default of the server
}

// companions are the keys that the API server's schema has in addition to the
// one in the struct tag patchMergeKey: 53/TCP and 53/UDP are two ports.
var companions = map[string]mergeKey{
	"port":          {name: "protocol", fallback: "TCP"},
	"containerPort": {name: "protocol", fallback: "TCP"},
	"topologyKey":   {name: "whenUnsatisfiable"},
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
		return &listPlan{slice: true, size: from.Type.Elem().Size(), merge: mergeRule{kind: set}}
	}
	keys := appendKey(nil, from.Type.Elem(), mergeKey{name: name})
	if len(keys) == 0 {
		return nil
	}
	if companion, ok := companions[name]; ok {
		keys = appendKey(keys, from.Type.Elem(), companion)
	}
	return &listPlan{slice: true, size: from.Type.Elem().Size(), merge: mergeRule{kind: keyed, keys: keys}}
}

// appendKey appends key if item is a struct with such a member, of a kind that
// can be compared.
func appendKey(keys []mergeKey, item reflect.Type, key mergeKey) []mergeKey {
	if item.Kind() != reflect.Struct {
		return keys
	}
	for _, member := range jsonFields(item) {
		if member.name != key.name {
			continue
		}
		switch member.Type.Kind() {
		case reflect.String:
		case reflect.Int32, reflect.Int64, reflect.Int:
		default:
			continue
		}
		return append(keys, key)
	}
	return keys
}

func (k *mergeKey) text(s string) string {
	if s == "" {
		return k.fallback
	}
	return s
}
