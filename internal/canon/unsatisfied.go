package canon

import "strconv"

// unsatisfied collects the paths at which live does not satisfy desired, in the sense of Satisfies.
func (w *walk) unsatisfied(s shape, path string, live, desired any) {
	switch d := desired.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			w.unsatisfiedMembers(s, path, l, d)
			return
		}
	case []any:
		if l, ok := live.([]any); ok {
			w.unsatisfiedItems(s, path, l, d)
			return
		}
	}
	if !equal(live, desired) {
		w.addValues(s, path, live, desired)
	}
}

func (w *walk) unsatisfiedMembers(s shape, path string, live, desired map[string]any) {
	for _, name := range sortedNames(desired) {
		inner, innerPath := s.member(path, name)
		l, ok := live[name]
		if !ok && isObject(desired[name]) && inner.isAlwaysThere() {
			l, ok = orEmpty(l), true
		}
		switch {
		case ok:
			w.unsatisfied(inner, innerPath, l, desired[name])
		case !satisfiedByAbsence(desired[name]):
			w.addValues(inner, innerPath, nil, desired[name])
		}
	}
}

func satisfiedByAbsence(desired any) bool {
	list, ok := desired.([]any)
	return ok && len(list) == 0
}

func (w *walk) unsatisfiedItems(s shape, path string, live, desired []any) {
	item, rule := s.items()
	if rule.kind != atomic {
		w.unsatisfiedMerged(item, rule, path, live, desired)
		return
	}
	for i := range max(len(live), len(desired)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(desired):
			w.addValues(item, at, live[i], nil)
		case i >= len(live):
			w.addValues(item, at, nil, desired[i])
		default:
			w.unsatisfied(item, at, live[i], desired[i])
		}
	}
}

func (w *walk) unsatisfiedMerged(item shape, rule mergeRule, path string, live, desired []any) {
	places := placesOf(rule, live)
	last, moved := -1, false
	for _, d := range desired {
		label := rule.label(d)
		at := path + "[" + label + "]"
		if len(places[label]) == 0 {
			w.addValues(item, at, nil, d)
			continue
		}
		place := places[label][0]
		if rule.kind == keyed {
			places[label] = places[label][1:]
			moved = moved || place < last
			last = max(last, place)
		}
		w.unsatisfied(item, at, live[place], d)
	}
	if moved {
		w.add(path)
	}
}
