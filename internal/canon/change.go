package canon

import "strconv"

// Change is a place where two objects differ.
type Change struct {
	// Path has forms such as spec.template.spec.containers[name=app].image,
	// spec.ports[port=80,protocol=TCP].nodePort, metadata.labels[example.org/tier] and spec.args[2]. If
	// one side lacks a part, Path names the outermost part that can be absent: the target of a pointer,
	// a list, or a key of a map. Path is empty if the objects cannot be compared at all.
	Path string
	// Old and New are set for numbers (quantities included) and booleans only,
	// so that no secret can leak.
	Old, New string
}

// Diff returns the differences between the canonical forms of two objects, in their content, labels,
// annotations (including digests), owner references and finalizers: additions, removals, changed values
// and changed order. Items of lists with a merge key are matched by their keys.
func Diff(before, after Object) []Change {
	return changes(before, after, parts{metadata: true, digests: true}, (*walk).diff)
}

type compareFunc func(w *walk, s shape, path string, before, after any)

func changes(before, after Object, p parts, compare compareFunc) []Change {
	x, y, ok := readBoth(before, after)
	if !ok {
		return []Change{{}}
	}
	_, old, errOld := tree(x, p)
	top, updated, errNew := tree(y, p)
	if errOld != nil || errNew != nil {
		return []Change{{}}
	}
	w := &walk{}
	if compare(w, top, "", old, updated); len(w.found) > 0 {
		return w.found
	}
	return nil
}

// walk collects changes.
type walk struct{ found []Change }

func (w *walk) add(path string) { w.found = append(w.found, Change{Path: path}) }

func (w *walk) addValues(s shape, path string, before, after any) {
	w.found = append(w.found, Change{Path: path, Old: s.shown(before), New: s.shown(after)})
}

func (w *walk) diff(s shape, path string, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			w.diffMembers(s, path, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			w.diffItems(s, path, b, a)
			return
		}
	}
	if !equal(before, after) {
		w.addValues(s, path, before, after)
	}
}

func (w *walk) diffMembers(s shape, path string, before, after map[string]any) {
	for _, name := range sortedNames(before, after) {
		inner, innerPath := s.member(path, name)
		b, inBefore := before[name]
		a, inAfter := after[name]
		if inBefore == inAfter {
			w.diff(inner, innerPath, b, a)
			continue
		}
		found := len(w.found)
		if isObject(b, a) && inner.isAlwaysThere() {
			w.diff(inner, innerPath, orEmpty(b), orEmpty(a))
		}
		if len(w.found) == found {
			w.addValues(inner, innerPath, b, a)
		}
	}
}

func isObject(values ...any) bool {
	for _, v := range values {
		if _, ok := v.(map[string]any); ok {
			return true
		}
	}
	return false
}

func orEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

func (w *walk) diffItems(s shape, path string, before, after []any) {
	item, rule := s.items()
	if rule.kind != atomic {
		w.diffMerged(item, rule, path, before, after)
		return
	}
	for i := range max(len(before), len(after)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(after):
			w.addValues(item, at, before[i], nil)
		case i >= len(before):
			w.addValues(item, at, nil, after[i])
		default:
			w.diff(item, at, before[i], after[i])
		}
	}
}

// diffMerged matches items by their labels, the nth of one label with the nth.
func (w *walk) diffMerged(item shape, rule mergeRule, path string, before, after []any) {
	places := placesOf(rule, before)
	last, moved := -1, false
	for _, a := range after {
		label := rule.label(a)
		at := path + "[" + label + "]"
		if len(places[label]) == 0 {
			w.addValues(item, at, nil, a)
			continue
		}
		place := places[label][0]
		places[label] = places[label][1:]
		moved = moved || place < last
		last = max(last, place)
		w.diff(item, at, before[place], a)
	}
	for i, b := range before {
		if label := rule.label(b); len(places[label]) > 0 && places[label][0] == i {
			places[label] = places[label][1:]
			w.addValues(item, path+"["+label+"]", b, nil)
		}
	}
	if moved {
		w.add(path)
	}
}

func placesOf(rule mergeRule, items []any) map[string][]int {
	places := make(map[string][]int, len(items))
	for i, item := range items {
		label := rule.label(item)
		places[label] = append(places[label], i)
	}
	return places
}

// equal compares scalars.
func equal(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
