package managedfields

import (
	"bytes"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/paths"
)

// Owned are the fields that an entry owns, read from the text in which the API server keeps them. A Set of them is built
// only to change them. The zero value has no fields.
type Owned struct {
	text  canon.Raw
	index *index // of a long text, or nil
}

// OwnedBy returns the fields that an entry owns, to be read by one goroutine. An unreadable entry owns nothing.
func OwnedBy(entry *metav1.ManagedFieldsEntry) Owned {
	if entry == nil || entry.FieldsV1 == nil {
		return Owned{}
	}
	text := Raw(entry.FieldsV1)
	if !isAsWritten(text) {
		var compact bytes.Buffer
		if json.Compact(&compact, text) != nil || !isAsWritten(compact.Bytes()) {
			return Owned{}
		}
		text = compact.Bytes()
	}
	owned := Owned{text: text}
	if len(text) >= longText {
		owned.index = &index{atLeast: longText}
	}
	return owned
}

// isAsWritten reports whether text has the form in which the API server writes fields: objects in objects, without white
// space.
func isAsWritten(text []byte) bool {
	depth := 0
	for at := 0; at < len(text); {
		switch text[at] {
		case '{':
			depth++
			if at++; at < len(text) && text[at] == '}' {
				continue
			}
		case '}':
			if depth, at = depth-1, at+1; depth == 0 {
				return at == len(text)
			}
			if at == len(text) || text[at] == '}' {
				continue
			}
			if text[at] != ',' {
				return false
			}
			at++
		default:
			return false
		}
		if at = endOfName(text, at); at < 0 {
			return false
		}
	}
	return false
}

// endOfName returns where the value of a member begins whose name begins at a place; -1 if no object is there.
func endOfName(text []byte, at int) int {
	if at >= len(text) || text[at] != '"' {
		return -1
	}
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	if at+2 >= len(text) || text[at+1] != ':' || text[at+2] != '{' {
		return -1
	}
	return at + 2
}

// OwnsBeside reports whether o has fields outside of a member at the top, such as metadata.
func (o Owned) OwnsBeside(name string) bool {
	for m := o.text.Members(); m.Next(); {
		if string(m.Name) != "f:"+name && string(m.Name) != "." {
			return true
		}
	}
	return false
}

// Owns reports whether o has the path of a Change, a path inside, or a whole value around it, such as a selector.
//
// If the Go type has no merge key for a list, the path has the index of the item, while the fields have
// its key if the server knows one. Then any item counts.
func (o Owned) Owns(path string) bool { return o.OwnsAt(paths.Steps(path)) }

// OwnsAt is as Owns for the steps of a path.
func (o Owned) OwnsAt(steps []string) bool {
	if len(steps) == 0 {
		_, inside := partsOf(o.text)
		return inside
	}
	members := o.text.Members()
	if !isIndex(steps[0]) { // which may mean any item
		members = o.named(steps[0])
	}
	for m := members; m.Next(); {
		if !mayBeNamed(m.Name, steps[0]) {
			continue
		}
		itself, inside := partsOf(m.Value)
		if itself && (len(steps) == 1 || !inside) || inside && o.in(m.Value).OwnsAt(steps[1:]) {
			return true
		}
	}
	return false
}

// named returns the members of o among which those are to which step leads.
func (o Owned) named(step string) canon.Members {
	if o.index == nil {
		return o.text.Members()
	}
	return o.index.find(o.text, step)
}

// in returns the fields below a name of o.
func (o Owned) in(fields canon.Raw) Owned { return Owned{fields, o.index} }

// At reports whether o has the place itself that steps lead to, and whether it has one inside.
func (o Owned) At(steps []string) (itself, inside bool) {
	for m := o.named(steps[0]); m.Next(); {
		if !isNamed(m.Name, steps[0]) {
			continue
		}
		isThere, isBelow := partsOf(m.Value)
		if len(steps) > 1 {
			isThere, isBelow = o.in(m.Value).At(steps[1:])
		}
		itself, inside = itself || isThere, inside || isBelow
	}
	return itself, inside
}

// HasAt reports whether o has the place that steps lead to, or one inside.
func (o Owned) HasAt(steps []string) bool {
	itself, inside := o.At(steps)
	return itself || inside
}

// PartOf returns how many steps lead to a larger value of which the place at all steps is a part: a list or a map that
// o has as a whole, or an item with more keys than its step names. It returns 0 if there is none.
func (o Owned) PartOf(steps []string) int {
	if len(steps) == 0 {
		return 0
	}
	found := 0
	for m := o.text.Members(); m.Next(); {
		_, inside := partsOf(m.Value)
		isOnTheWay, isHalf := isNamed(m.Name, steps[0]), isHalfNamed(m.Name, steps[0])
		switch below := o.in(m.Value); {
		case !inside && (isHalf || isOnTheWay && len(steps) > 1):
			return 1
		case isHalf && below.OwnsAt(steps[1:]):
			found = max(found, 1)
		case isOnTheWay:
			if n := below.PartOf(steps[1:]); n > 0 {
				found = max(found, n+1)
			}
		}
	}
	return found
}

// Holds reports whether o has path, or a path inside.
func (o Owned) Holds(path fieldpath.Path) bool {
	if len(path) == 0 {
		return o.OwnsAt(nil)
	}
	name, err := fieldpath.SerializePathElement(path[0])
	if err != nil {
		return false
	}
	members := o.text.Members()
	fields := o.find(&members, []byte(name))
	return fields != nil && (len(path) == 1 || o.in(fields).Holds(path[1:]))
}

// MergeRule returns how the API server merges the list to which steps lead, as the names of its items tell; nil if they do
// not.
func (o Owned) MergeRule(steps []string) *canon.MergeRule {
	for m := o.named(steps[0]); m.Next(); {
		switch {
		case !isNamed(m.Name, steps[0]):
		case len(steps) == 1:
			return mergeRuleOf(m.Value)
		default:
			return o.in(m.Value).MergeRule(steps[1:])
		}
	}
	return nil
}

// mergeRuleOf returns how the API server merges a list of which these items are owned.
func mergeRuleOf(items canon.Raw) *canon.MergeRule {
	m := items.Members()
	if m.Next() && string(m.Name) == "." {
		m.Next()
	}
	kind, rest, _ := bytes.Cut(m.Name, []byte(":"))
	switch {
	case string(kind) == "v":
		return &canon.MergeRule{Kind: canon.Set}
	case string(kind) != "k" || !json.Valid(rest):
		return nil
	}
	rule := &canon.MergeRule{Kind: canon.Keyed}
	for key := canon.Raw(rest).Members(); key.Next(); {
		rule.Keys = append(rule.Keys, canon.MergeKey{Name: string(key.Name)})
	}
	return rule
}

// Without returns the paths that o has and other lacks, each after those around it.
func (o Owned) Without(other Owned) []fieldpath.Path {
	var found []fieldpath.Path
	o.without(other, nil, &found)
	return found
}

func (o Owned) without(other Owned, at fieldpath.Path, found *[]fieldpath.Path) {
	if bytes.Equal(o.text, other.text) {
		return
	}
	theirs := other.text.Members()
	for m := o.text.Members(); m.Next(); {
		value := other.find(&theirs, m.Name)
		if bytes.Equal(m.Value, value) || string(m.Name) == "." {
			continue
		}
		element, err := fieldpath.DeserializePathElement(string(m.Name))
		if err != nil {
			continue // nobody has it
		}
		here := append(at.Copy(), element)
		itself, _ := partsOf(m.Value)
		if isTheirs, _ := partsOf(value); itself && !isTheirs {
			*found = append(*found, here)
		}
		o.in(m.Value).without(other.in(value), here, found)
	}
}

// find returns the fields below a name, nil if there are none. at has read the names of o up to one that was found before.
func (o Owned) find(at *canon.Members, name []byte) canon.Raw {
	if o.index == nil {
		return at.Find(o.text, name)
	}
	for m := o.named(stepTo(name)); m.Next(); {
		if bytes.Equal(m.Name, name) {
			return m.Value
		}
	}
	return nil
}

// partsOf reports whether the fields below a name have the place itself, and whether they have places inside. The API server
// writes the place itself first.
func partsOf(fields canon.Raw) (itself, inside bool) {
	if rest, ok := bytes.CutPrefix(fields, []byte(`{".":{}`)); ok {
		return true, rest[0] == ','
	}
	return len(fields) == len("{}"), len(fields) > len("{}")
}

// isNamed reports whether step leads to the place with a name, such as f:spec, v:"a" or k:{"port":80}.
func isNamed(name []byte, step string) bool {
	kind, rest, _ := bytes.Cut(name, []byte(":"))
	switch string(kind) {
	case "f", "i":
		return string(rest) == step
	case "k":
		found, others := namedKeys(rest, step)
		return found > 0 && !others && found == countKeys(step)
	case "v":
		return json.Valid(rest) && string(textOf(rest)) == step
	}
	return false
}

// stepTo returns the step that leads to the place with a name.
func stepTo(name []byte) string {
	kind, rest, _ := bytes.Cut(name, []byte(":"))
	switch {
	case string(kind) == "v" && json.Valid(rest):
		return string(textOf(rest))
	case string(kind) == "k" && json.Valid(rest):
		var keys []paths.Key
		for m := canon.Raw(rest).Members(); m.Next(); {
			keys = append(keys, paths.Key{Name: string(m.Name), Value: string(textOf(m.Value))})
		}
		return paths.ItemName(keys)
	}
	return string(rest)
}

// mayBeNamed is as isNamed, and takes the index of an item for any item.
func mayBeNamed(name []byte, step string) bool {
	isItem := len(name) > 0 && (name[0] == 'k' || name[0] == 'v')
	return isItem && isIndex(step) || isNamed(name, step)
}

// isHalfNamed reports whether step names an item by some of its keys.
func isHalfNamed(name []byte, step string) bool {
	keys, isItem := bytes.CutPrefix(name, []byte("k:"))
	if !isItem || isNamed(name, step) {
		return false
	}
	found, _ := namedKeys(keys, step)
	return found > 0 && found == countKeys(step)
}

// namedKeys returns how many merge keys of an item a step such as port=80,protocol=TCP has with their values, and whether
// the item has others that are not empty. It returns none if the step has another value of a key.
func namedKeys(keys []byte, step string) (found int, others bool) {
	if !json.Valid(keys) {
		return 0, true
	}
	for m := canon.Raw(keys).Members(); m.Next(); {
		text := string(textOf(m.Value))
		value, isNamed := keyIn(step, m.Name)
		switch {
		case isNamed && value != text:
			return 0, true
		case isNamed:
			found++
		case text != "":
			others = true
		}
	}
	return found, others
}

// countKeys returns the number of merge keys that a step names.
func countKeys(step string) int {
	count := 0
	for part := range strings.SplitSeq(step, ",") {
		if strings.Contains(part, "=") {
			count++
		}
	}
	return count
}

// keyIn returns the value of a merge key in a step such as port=80,protocol=TCP.
func keyIn(step string, name []byte) (value string, isNamed bool) {
	for part := range strings.SplitSeq(step, ",") {
		if key, value, ok := strings.Cut(part, "="); ok && key == string(name) {
			return value, true
		}
	}
	return "", false
}

// textOf returns a scalar in the form that paths contain.
func textOf(scalar canon.Raw) []byte {
	if scalar[0] == '"' {
		return []byte(scalar.Text())
	}
	return scalar
}
