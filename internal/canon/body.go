package canon

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
func duplicate(s shape, path string, v any) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedNames(v) {
			inner, innerPath := s.member(path, name)
			if found, ok := duplicate(inner, innerPath, v[name]); ok {
				return found, true
			}
		}
	case []any:
		return duplicateItem(s, path, v)
	}
	return "", false
}

func duplicateItem(s shape, path string, items []any) (string, bool) {
	item, rule := s.items()
	seen := make(map[string]bool, len(items))
	for i, v := range items {
		at := path + "[" + strconv.Itoa(i) + "]"
		if rule.kind != atomic {
			label := rule.label(v)
			at = path + "[" + label + "]"
			if seen[label] {
				return at, true
			}
			seen[label] = true
		}
		if found, ok := duplicate(item, at, v); ok {
			return found, true
		}
	}
	return "", false
}
