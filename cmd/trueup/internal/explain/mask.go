package explain

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// hidden stands in a path for what names a masked item.
const hidden = "***"

// A mask reports whether the value at a path may not be shown. The nil mask shows everything.
type mask func(fieldpath.Path) bool

// Masks reports whether values of a kind are masked. What an API server or a client says about such an object may not be
// shown, as it can quote the object.
func (o Options) Masks(kind schema.GroupKind) bool {
	return o.Mask || answer.IsSensitive(kind)
}

// maskOf returns the mask for obj. Of a Secret, the content and the annotations are masked: kubectl and
// other programs quote the content in annotations. Digests are shown.
func maskOf(obj *unstructured.Unstructured, opts Options) mask {
	switch {
	case opts.Mask:
		return func(path fieldpath.Path) bool { return !isDigest(path) }
	case opts.Masks(obj.GroupVersionKind().GroupKind()):
		return isSecret
	}
	return nil
}

// masks reports whether the value at path is masked.
func (m mask) masks(path fieldpath.Path) bool { return m != nil && m(path) }

// text returns path as a text without the values that name masked items: spec.tokens[***], spec.users[name=***].age.
// Names of fields and keys of maps stay, and so do the places of items.
func (m mask) text(path fieldpath.Path) string { return managedfields.Text(m.hide(path)) }

// texts returns the text of each of fields, sorted.
func (m mask) texts(fields *fieldpath.Set) []string {
	var found []string
	for path := range fields.All() {
		found = append(found, m.text(path))
	}
	slices.Sort(found)
	return found
}

// hide returns path without the values that name masked items. Two items may have the same path then.
func (m mask) hide(path fieldpath.Path) fieldpath.Path {
	shown := path.Copy()
	for i := range path {
		if m.masks(path[:i+1]) {
			shown[i] = withoutValue(path[i])
		}
	}
	return shown
}

func withoutValue(element fieldpath.PathElement) fieldpath.PathElement {
	switch {
	case element.Value != nil:
		return fieldpath.ValueElement(value.NewValueInterface(hidden))
	case element.Key != nil:
		var key []value.Field
		for _, name := range keyNames(element) {
			key = append(key, value.Field{Name: name, Value: value.NewValueInterface(hidden)})
		}
		return fieldpath.KeyElement(key...)
	}
	return element
}

// isSecret reports whether the value at path contains content of a Secret.
func isSecret(path fieldpath.Path) bool {
	switch nameAt(path, 0) {
	case "data", "stringData", "":
		return true
	case "metadata":
		return len(path) == 1 || nameAt(path, 1) == "annotations" && !isDigest(path)
	}
	return false
}

// isDigest reports whether path is the annotation with a digest of trueup.
func isDigest(path fieldpath.Path) bool {
	return len(path) == 3 && nameAt(path, 0) == "metadata" && nameAt(path, 1) == "annotations" &&
		strings.HasPrefix(nameAt(path, 2), canon.DigestPrefix)
}

// nameAt returns the name of the field at a step of path, or "".
func nameAt(path fieldpath.Path, step int) string {
	if step >= len(path) || path[step].FieldName == nil {
		return ""
	}
	return *path[step].FieldName
}
