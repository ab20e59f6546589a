package canon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/internal/paths"
)

// Body returns the body of a server-side apply of obj: apiVersion and kind, of
// the metadata the namespace, name, labels, annotations (digests included),
// owner references and finalizers, and the content in canonical form. A uid or
// resourceVersion that is not empty is added to the metadata.
//
// Two items of a list that have the same merge key are a *DuplicateError: a
// create takes them, an apply does not.
func Body(obj Object, gvk schema.GroupVersionKind, uid types.UID, resourceVersion string) ([]byte, error) {
	c, err := read(obj)
	if err != nil {
		return nil, err
	}
	p := parts{
		apiVersion:      gvk.GroupVersion().String(),
		kind:            gvk.Kind,
		uid:             string(uid),
		resourceVersion: resourceVersion,
		metadata:        true,
		identity:        true,
		digests:         true,
		explicit:        true,
	}
	top, body, err := form(nil, &c, &p)
	if err != nil {
		return nil, err
	}
	at := trails.Get().(*Trail)
	defer trails.Put(at)
	defer at.End()
	if at.Begin(top); findDuplicate(at, body) {
		return nil, &DuplicateError{Path: at.Path()}
	}
	return body, nil
}

// DuplicateError says that two items of a list have the same merge key.
type DuplicateError struct {
	// Path is that of the second item, like
	// spec.template.spec.containers[name=app].env[name=MODE].
	Path string
}

// Error names the second item by its path.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("cannot apply two items with the same key: %s", e.Path)
}

var trails = sync.Pool{New: func() any { return new(Trail) }}

// findDuplicate reports whether a merged list has an item with the key of an earlier one, and then leaves at there. Where
// the type is not known, no list is merged.
func findDuplicate(at *Trail, value Raw) bool {
	shape := at.Shape()
	switch {
	case shape.IsUnknown() && !shape.root:
		return false
	case value.IsList():
		return findDuplicateItem(at, value)
	}
	for m := value.Members(); m.Next(); {
		if at.EnterMember(m.Name); findDuplicate(at, m.Value) {
			return true
		}
		at.Leave()
	}
	return false
}

func findDuplicateItem(at *Trail, list Raw) bool {
	_, rule := at.Shape().Items()
	var space [FewItems]Raw
	var taken [FewItems]bool
	items := list.AppendItems(space[:0])
	seen := NewMatcher(rule, items, taken[:0]) // of which none is taken
	for i, item := range items {
		at.EnterItem(rule, item, i)
		if rule.Kind != Atomic && seen.Find(item) != i || findDuplicate(at, item) {
			return true
		}
		at.Leave()
	}
	return false
}

// WithoutNulls leaves members that are null out of a JSON object, such as Body writes: those
// with one of the paths. A path has [] for an item of a list: spec.parts[].size. It returns
// nil if there is no such member.
func WithoutNulls(body []byte, paths []string) []byte {
	parsed, err := parseJSON(body)
	if err != nil {
		return nil
	}
	refused := make(map[string]bool, len(paths))
	for _, refusedPath := range paths {
		refused[refusedPath] = true
	}
	if !dropNulls(parsed, "", refused) {
		return nil
	}
	rest, err := Append(nil, parsed)
	if err != nil {
		return nil
	}
	return rest
}

// dropNulls reports whether it has dropped any.
func dropNulls(v any, parent string, refused map[string]bool) (dropped bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			at := paths.Member(parent, name)
			if member == nil && refused[at] {
				delete(v, name)
				dropped = true
			}
			dropped = dropNulls(member, at, refused) || dropped
		}
	case []any:
		for _, item := range v {
			dropped = dropNulls(item, paths.Item(parent, ""), refused) || dropped
		}
	}
	return dropped
}

// maxSimpleKey is the largest number of characters, including quotes, that a YAML key without a
// question mark may have.
const maxSimpleKey = 1024

// YAML returns a compact JSON text in a form that an API server, which reads the body of an apply as
// YAML, reads correctly.
//
// Runes are written raw, as an escape is up to three times as long, except for runes that YAML refuses
// or treats as line breaks. A key that is too long for YAML gets a question mark; the text then begins
// with dashes, so that nobody takes the text for JSON.
func YAML(text []byte) []byte {
	if isYAML(text) {
		return text
	}
	const dashes = "--- "
	out := append(make([]byte, 0, len(dashes)+len(text)), dashes...)
	isJSON := true
	for len(text) > 0 {
		before, quoted, after := cutString(text)
		out = append(out, before...)
		key := len(out)
		out = appendUnescaped(out, quoted)
		if isKey(after) && utf8.RuneCount(out[key:]) > maxSimpleKey {
			out = slices.Insert(out, key, '?', ' ')
			isJSON = false
		}
		text = after
	}
	if isJSON {
		return out[len(dashes):]
	}
	return out
}

// isYAML reports whether no string in text has to be written otherwise, which is so for most texts.
func isYAML(text []byte) bool {
	for len(text) > 0 {
		_, quoted, after := cutString(text)
		if !isUnescaped(quoted) || isKey(after) && len(quoted) > maxSimpleKey {
			return false
		}
		text = after
	}
	return true
}

// isKey reports whether the string before this text is a key.
func isKey(after []byte) bool { return len(after) > 0 && after[0] == ':' }

// cutString finds the first JSON string in text, quotes included.
func cutString(text []byte) (before, quoted, after []byte) {
	begin := bytes.IndexByte(text, '"')
	if begin < 0 {
		return text, nil, nil
	}
	for end := begin + 1; end < len(text); end++ {
		switch text[end] {
		case '\\':
			end++
		case '"':
			return text[:begin], text[begin : end+1], text[end+1:]
		}
	}
	return text, nil, nil // the string does not end
}

// isUnescaped reports whether a JSON string is ASCII, without escapes but those of quotes, backslashes and control
// characters.
func isUnescaped(quoted []byte) bool {
	for i := 0; i < len(quoted); i++ {
		switch {
		case quoted[i] >= 0x7f:
			return false
		case quoted[i] != '\\':
		case quoted[i+1] == '"', quoted[i+1] == '\\':
			i++
		case !bytes.HasPrefix(quoted[i:], []byte(`\u000`)) && !bytes.HasPrefix(quoted[i:], []byte(`\u001`)):
			return false
		}
	}
	return true
}

// appendUnescaped appends a JSON string with no more escapes than YAML needs.
func appendUnescaped(dst, quoted []byte) []byte {
	var content string
	if isUnescaped(quoted) || json.Unmarshal(quoted, &content) != nil {
		return append(dst, quoted...)
	}
	dst = append(dst, '"')
	for _, r := range content {
		if needsEscape(r) {
			dst = appendEscape(dst, r)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// needsEscape reports whether YAML does not read r unchanged within quotes, as tested on kube-apiserver
// 1.36 for every rune.
func needsEscape(r rune) bool {
	switch {
	case r < ' ', r == '"', r == '\\':
		return true
	case r >= 0x7f && r <= 0x9f: // control characters; one of them ends a line
		return true
	default:
		return r == 0x2028 || r == 0x2029 || r == 0xfffe || r == 0xffff
	}
}
