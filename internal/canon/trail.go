package canon

import (
	"strconv"

	"github.com/trueup-go/trueup/internal/paths"
)

// A Trail leads from the top of a canonical form to a place. Its path is built only if somebody asks for it.
type Trail struct{ steps []step }

// A step is a place on a trail.
type step struct {
	Shape            // of the value at the place
	name  []byte     // of a member
	rule  *MergeRule // of the list, if the place is an item
	item  Raw
	index int
}

// Begin leads to the top of a form with this shape.
func (t *Trail) Begin(top Shape) { t.steps = append(t.steps[:0], step{Shape: top}) }

// End drops what the trail refers to.
func (t *Trail) End() { clear(t.steps[:cap(t.steps)]) }

// Shape returns the shape of the value at the place.
func (t *Trail) Shape() Shape { return t.steps[len(t.steps)-1].Shape }

// EnterMember goes to a member of the object at the place.
func (t *Trail) EnterMember(name []byte) {
	t.steps = append(t.steps, step{Shape: t.Shape().inner(name), name: name})
}

// EnterItem goes to an item of the list at the place, which is merged by a rule. The index is that of the path if the list
// has no merge keys.
func (t *Trail) EnterItem(rule *MergeRule, item Raw, index int) {
	inner, _ := t.Shape().Items()
	t.steps = append(t.steps, step{Shape: inner, rule: rule, item: item, index: index})
}

// Leave goes back to the object or list around the place.
func (t *Trail) Leave() { t.steps = t.steps[:len(t.steps)-1] }

// Path returns the path of the place.
func (t *Trail) Path() string {
	path := ""
	for i, s := range t.steps[1:] {
		if s.rule == nil {
			_, path = t.steps[i].Member(path, string(s.name))
		} else {
			path = paths.Item(path, s.itemName())
		}
	}
	return path
}

// Steps returns the steps of the path of the place.
func (t *Trail) Steps() []string {
	steps := make([]string, len(t.steps)-1)
	for i, s := range t.steps[1:] {
		if steps[i] = string(s.name); s.rule != nil {
			steps[i] = s.itemName()
		}
	}
	return steps
}

func (s *step) itemName() string {
	if s.rule.Kind == Atomic {
		return strconv.Itoa(s.index)
	}
	return s.rule.name(s.item)
}
