package canon

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/trueup-go/trueup/internal/paths"
)

// name returns the name of an item in paths, such as name=app, or a member of a set.
func (r *MergeRule) name(item Raw) string {
	if r.Kind == Set {
		return item.Text()
	}
	keys := make([]paths.Key, 0, len(r.Keys))
	for _, key := range r.Keys {
		if value := key.Text(item.Member(key.Name).Text()); value != "" || len(r.Keys) == 1 {
			keys = append(keys, paths.Key{Name: key.Name, Value: value})
		}
	}
	return paths.ItemName(keys)
}

// Names reports whether the rule gives each of items a name that a path can contain.
func (r *MergeRule) Names(items []Raw) bool {
	for _, item := range items {
		if r.Kind == Set && !isNamable(item) {
			return false
		}
		for _, key := range r.Keys {
			if !isNamable(item.Member(key.Name)) {
				return false
			}
		}
	}
	return true
}

func isNamable(scalar Raw) bool {
	return bytes.ContainsAny(scalar, `"0123456789`) && !bytes.ContainsAny(scalar, "[]{},")
}

// haveSameName reports whether two items have the same name.
func (r *MergeRule) haveSameName(a, b Raw) bool {
	if r.Kind == Set {
		return bytes.Equal(a.text(), b.text())
	}
	for _, key := range r.Keys {
		inA, inB := a.Member(key.Name), b.Member(key.Name)
		if !bytes.Equal(inA, inB) && cmp.Or(string(inA.text()), key.Default) != cmp.Or(string(inB.text()), key.Default) {
			return false
		}
	}
	return true
}

// A Matcher finds the items of a list with merge keys by their names, each once.
type Matcher struct {
	rule  *MergeRule
	items []Raw
	taken []bool
	// next is the first item that is not taken.
	next int
	// places are the indexes of the items with each name, if there are too many items to look through.
	places map[string][]int
}

// FewItems is a number of items that are looked through. Most lists are shorter.
const FewItems = 16

// NewMatcher returns a Matcher of items. taken, which may be nil, is space to use.
func NewMatcher(rule *MergeRule, items []Raw, taken []bool) Matcher {
	taken = slices.Grow(taken[:0], len(items))[:len(items)]
	clear(taken)
	return Matcher{rule: rule, items: items, taken: taken}
}

// Find returns the index of the first item with the name of the given one that is not taken; -1 if there is none.
func (m *Matcher) Find(item Raw) int {
	switch {
	case m.next < len(m.items) && m.rule.haveSameName(m.items[m.next], item): // as in a list that is the same
		return m.next
	case len(m.items) > FewItems:
		return m.lookUp(m.rule.name(item))
	}
	for i := m.next; i < len(m.items); i++ {
		if !m.taken[i] && m.rule.haveSameName(m.items[i], item) {
			return i
		}
	}
	return -1
}

func (m *Matcher) lookUp(name string) int {
	if m.places == nil {
		m.places = make(map[string][]int, len(m.items))
		for i, item := range m.items {
			name := m.rule.name(item)
			m.places[name] = append(m.places[name], i)
		}
	}
	places := m.places[name]
	for len(places) > 0 && m.taken[places[0]] {
		places = places[1:]
	}
	m.places[name] = places
	if len(places) == 0 {
		return -1
	}
	return places[0]
}

// Take takes an item.
func (m *Matcher) Take(index int) {
	m.taken[index] = true
	for m.next < len(m.items) && m.taken[m.next] {
		m.next++
	}
}

// IsTaken reports whether an item is taken.
func (m *Matcher) IsTaken(index int) bool { return m.taken[index] }
