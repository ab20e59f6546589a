package canon

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	body, err := encode(nil, func(e *encoder) error { return e.object(&c, &p) })
	if err != nil {
		return nil, err
	}
	top, members, err := tree(c, p)
	if err != nil {
		return nil, err
	}
	if path, ok := duplicate(top, "", members); ok {
		return nil, &DuplicateError{Path: path}
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

// duplicate finds the first item of a merged list that has the key of an
// earlier one.
func duplicate(s Shape, at string, v any) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range SortedNames(v) {
			inner, innerAt := s.Member(at, name)
			if found, ok := duplicate(inner, innerAt, v[name]); ok {
				return found, true
			}
		}
	case []any:
		return duplicateItem(s, at, v)
	}
	return "", false
}

func duplicateItem(s Shape, parent string, items []any) (string, bool) {
	item, rule := s.Items()
	seen := make(map[string]bool, len(items))
	for i, v := range items {
		at := paths.Item(parent, strconv.Itoa(i))
		if rule.Kind != Atomic {
			name := rule.Name(v)
			at = paths.Item(parent, name)
			if seen[name] {
				return at, true
			}
			seen[name] = true
		}
		if found, ok := duplicate(item, at, v); ok {
			return found, true
		}
	}
	return "", false
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
	const dashes = "--- "
	out := append(make([]byte, 0, len(dashes)+len(text)), dashes...)
	isJSON := true
	for rest := string(text); rest != ""; {
		before, quoted, after := cutString(rest)
		out = append(out, before...)
		key := len(out)
		out = appendUnescaped(out, quoted)
		if strings.HasPrefix(after, ":") && utf8.RuneCount(out[key:]) > maxSimpleKey {
			out = slices.Insert(out, key, '?', ' ')
			isJSON = false
		}
		rest = after
	}
	if isJSON {
		return out[len(dashes):]
	}
	return out
}

// cutString finds the first JSON string in text, quotes included.
func cutString(text string) (before, quoted, after string) {
	begin := strings.IndexByte(text, '"')
	if begin < 0 {
		return text, "", ""
	}
	for end := begin + 1; end < len(text); end++ {
		switch text[end] {
		case '\\':
			end++
		case '"':
			return text[:begin], text[begin : end+1], text[end+1:]
		}
	}
	return text, "", "" // the string does not end
}

// appendUnescaped appends a JSON string with no more escapes than YAML needs.
func appendUnescaped(dst []byte, quoted string) []byte {
	var content string
	if quoted == "" || isPlain(quoted[1:len(quoted)-1]) || json.Unmarshal([]byte(quoted), &content) != nil {
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
