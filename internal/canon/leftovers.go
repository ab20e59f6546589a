package canon

import (
	"maps"
	"slices"
)

// leftovers are the items of a live list that make the merge invalid.
type leftovers struct {
	labels []string
	// member is what an item of desired's must not have in common with one beside it.
	member string
	// all says that of the items that desired does not have any may be at fault.
	all bool
}

func (l *leftovers) add(more leftovers) {
	l.labels = append(l.labels, more.labels...)
	l.all = l.all || more.all
}

// leftovers finds them in the list n, of which path names an item of the merged list
// and, maybe, a member of that. An item that desired does not have is at fault itself;
// if it is desired's, then those beside it are that have the same in that member: an
// edited port, left beside ours of the same name.
func (n node) leftovers(path []string) leftovers {
	live, isList := n.live.([]any)
	desired, _ := n.desired.([]any)
	_, rule := n.shape.items()
	if !isList || rule.kind != keyed || len(path) < 2 {
		return leftovers{all: true}
	}
	label, ok := rule.mergedLabel(live, desired, path[0])
	if !ok {
		return leftovers{all: true}
	}
	at := slices.Index(rule.labels(desired), label)
	if at < 0 {
		return leftovers{labels: []string{label}, member: path[1]}
	}
	found := leftovers{member: path[1]}
	for _, item := range live {
		if !slices.Contains(rule.labels(desired), rule.label(item)) && haveSame(path[1], item, desired[at]) {
			found.labels = append(found.labels, rule.label(item))
		}
	}
	found.all = len(found.labels) == 0
	return found
}

func haveSame(member string, a, b any) bool {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	v, ok := x[member]
	return ok && equal(v, y[member])
}

// value is what replaces the holder: desired's, and in a list the items of live that are
// not at fault, as they are.
func (h *holder) value() any {
	live, isList := h.live.([]any)
	if !isList || h.leftovers.all {
		return h.desired
	}
	desired, _ := h.desired.([]any)
	_, rule := h.shape.items()
	isLeft := func(item any) bool { return slices.Contains(h.leftovers.labels, rule.label(item)) }
	kept := slices.DeleteFunc(slices.Clone(live), isLeft)
	left := slices.DeleteFunc(slices.Clone(live), func(item any) bool { return !isLeft(item) })
	merged := []any{}
	for _, label := range mergedOrder(rule.labels(kept), rule.labels(desired)) {
		if at := slices.Index(rule.labels(kept), label); at >= 0 {
			merged = append(merged, kept[at])
			continue
		}
		item := desired[slices.Index(rule.labels(desired), label)]
		merged = append(merged, h.leftovers.restored(rule, item, left))
	}
	return merged
}

// restored is an item of desired's that live does not have: it was edited into what is
// left, so what desired does not specify of it, such as a node port, is there. The key
// is desired's, defaults too.
func (l *leftovers) restored(rule mergeRule, item any, left []any) any {
	at := slices.IndexFunc(left, func(edited any) bool { return haveSame(l.member, edited, item) })
	desired, ok := item.(map[string]any)
	if at < 0 || !ok {
		return item
	}
	edited, _ := left[at].(map[string]any)
	whole := maps.Clone(edited)
	for _, key := range rule.keys {
		delete(whole, key.name)
	}
	maps.Copy(whole, desired)
	return whole
}
