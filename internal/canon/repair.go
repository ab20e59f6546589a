package canon

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// PatchOperation is one operation of a JSON patch (RFC 6902).
type PatchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"` // a JSON pointer into live
	Value any    `json:"value,omitempty"`
}

// Replacements finds, for each of the fields that an API server named when it
// refused to merge desired into live, the innermost list or struct that desired
// specifies and that holds the field. Replacing that rids live of what the merge
// trips over and of as little else as can be. The operations before each test that the
// items on the way are still where they were. Nil if a field is held by nothing smaller
// than the object or its spec.
//
// The fields' indexes are those of the merged object. Items are found by their merge
// keys: a list that has them loses those that are at fault and keeps the others; one
// without is replaced whole, as is one of which no item can be told to be at fault. A
// map whose keys are anybody's is never replaced: that would take other people's along.
func Replacements(live, desired Object, fields []string) []PatchOperation {
	x, y, ok := readBoth(live, desired)
	if !ok {
		return nil
	}
	_, liveTree, errLive := tree(x, parts{})
	top, desiredTree, errDesired := tree(y, parts{})
	if errLive != nil || errDesired != nil {
		return nil
	}
	held := map[string]*holder{}
	for _, field := range fields {
		h := &holder{}
		h.walk(node{shape: top, live: liveTree, desired: desiredTree}, Steps(field))
		if h.pointer == "" {
			return nil
		}
		if before, ok := held[h.pointer]; ok {
			h.leftovers.add(before.leftovers)
		}
		held[h.pointer] = h
	}
	return replacements(held)
}

// replacements leaves out what lies inside something that is replaced anyway.
func replacements(held map[string]*holder) []PatchOperation {
	var out []PatchOperation
	for _, pointer := range slices.Sorted(maps.Keys(held)) {
		inside := false
		for other := range held {
			inside = inside || strings.HasPrefix(pointer, other+"/")
		}
		if !inside {
			out = append(out, held[pointer].tests...)
			out = append(out, PatchOperation{Op: "replace", Path: pointer, Value: held[pointer].value()})
		}
	}
	return out
}

// node is a place that both objects have.
type node struct {
	shape         shape
	pointer       string
	depth         int
	live, desired any
	tests         []PatchOperation // that the items on the way are those they were
}

// holder is the innermost place so far that may be replaced.
type holder struct {
	node
	leftovers leftovers
}

func (h *holder) walk(n node, path []string) {
	// Above depth 2 are the object and its spec.
	if n.depth > 1 && n.isHolder() {
		h.node, h.leftovers = n, n.leftovers(path)
	}
	if len(path) == 0 {
		return
	}
	if next, ok := n.step(path[0]); ok {
		h.walk(next, path[1:])
	}
}

func (n node) isHolder() bool {
	if _, ok := n.desired.([]any); ok {
		return true
	}
	switch resolve(n.shape.plan).(type) {
	case *mapPlan, stringMapPlan:
		return false
	}
	return true
}

// step goes to a member or an item that is a list or an object in both objects.
func (n node) step(name string) (node, bool) {
	next := node{depth: n.depth + 1, tests: n.tests}
	switch desired := n.desired.(type) {
	case map[string]any:
		live, ok := n.live.(map[string]any)
		if !ok {
			return next, false
		}
		next.shape, _ = n.shape.member("", name)
		next.pointer = n.pointer + "/" + pointerEscapes.Replace(name)
		next.live, next.desired = live[name], desired[name]
	case []any:
		live, ok := n.live.([]any)
		if !ok {
			return next, false
		}
		item, rule := n.shape.items()
		i, j, ok := rule.mergedItem(live, desired, name)
		if !ok {
			return next, false
		}
		next.shape = item
		next.pointer = n.pointer + "/" + strconv.Itoa(i)
		next.live, next.desired = live[i], desired[j]
		next.tests = append(slices.Clone(n.tests), rule.tests(next.pointer, live[i])...)
	}
	return next, sameContainer(next.live, next.desired)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func sameContainer(a, b any) bool {
	switch a.(type) {
	case map[string]any:
		_, ok := b.(map[string]any)
		return ok
	case []any:
		_, ok := b.([]any)
		return ok
	}
	return false
}

// mergedItem returns where the item at index of the merged list is in both lists.
func (r *mergeRule) mergedItem(live, desired []any, index string) (i, j int, ok bool) {
	label, ok := r.mergedLabel(live, desired, index)
	if !ok {
		return 0, 0, false
	}
	i, j = slices.Index(r.labels(live), label), slices.Index(r.labels(desired), label)
	return i, j, i >= 0 && j >= 0
}

// mergedLabel is the label of the item at index of the merged list.
func (r *mergeRule) mergedLabel(live, desired []any, index string) (string, bool) {
	at, err := strconv.Atoi(index)
	if err != nil || r.kind != keyed {
		return "", false
	}
	order := mergedOrder(r.labels(live), r.labels(desired))
	if at < 0 || at >= len(order) {
		return "", false
	}
	return order[at], true
}

// tests are operations that fail if another item is at pointer.
func (r *mergeRule) tests(pointer string, item any) []PatchOperation {
	members, _ := item.(map[string]any)
	var out []PatchOperation
	for _, key := range r.keys {
		if value, ok := members[key.name]; ok {
			out = append(out, PatchOperation{Op: "test", Path: pointer + "/" + key.name, Value: value})
		}
	}
	return out
}

func (r *mergeRule) labels(items []any) []string {
	labels := make([]string, len(items))
	for i, item := range items {
		labels[i] = r.label(item)
	}
	return labels
}

// mergedOrder is the order that the server gives to a keyed list of live's items and
// desired's: desired's in their own order, live's others among them about where they
// were (structured-merge-diff, typed/merge.go, whose steps these are).
func mergedOrder(live, desired []string) []string {
	var out []string
	wanted := slices.DeleteFunc(slices.Clone(desired), func(label string) bool { return !slices.Contains(live, label) })
	rest := desired
	take := func() {
		out = append(out, rest[0])
		if len(wanted) > 0 && wanted[0] == rest[0] {
			wanted = wanted[1:]
		}
		rest = rest[1:]
	}
	for len(live) > 0 || len(rest) > 0 {
		switch {
		case len(live) == 0:
			take()
		case len(rest) > 0 && live[0] == rest[0]:
			take()
			live = live[1:]
		case !slices.Contains(desired, live[0]):
			out = append(out, live[0])
			live = live[1:]
		case len(rest) > 0 && len(wanted) > 0 && wanted[0] != live[0]:
			live = live[1:] // its turn comes, or came, in desired's order
		default:
			if slices.Contains(out, live[0]) {
				live = live[1:]
			}
			if len(rest) > 0 {
				take()
			}
		}
	}
	return out
}

// Steps splits a path, such as spec.template.spec.containers[0].ports[1].name, and keys in brackets
// with dots in them.
func Steps(field string) []string {
	var out []string
	for field != "" {
		end := strings.IndexAny(field, ".[")
		switch {
		case end < 0:
			return append(out, field)
		case end > 0:
			out = append(out, field[:end])
			field = field[end:]
		case field[0] == '.':
			field = field[1:]
		default:
			inside, rest, _ := strings.Cut(field[1:], "]")
			out = append(out, inside)
			field = rest
		}
	}
	return out
}
