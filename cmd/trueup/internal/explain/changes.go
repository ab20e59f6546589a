package explain

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// changes returns the differences between live and result, sorted by path. The managed fields of both
// show the keys of list items.
func changes(live, result *unstructured.Unstructured, mask mask) []Change {
	c := &comparison{mask: mask, found: []Change{}}
	c.compare(nil, live.Object, result.Object, allFields(live, result))
	slices.SortStableFunc(c.found, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return c.found
}

// A comparison collects the differences of two values.
type comparison struct {
	mask  mask
	found []Change
}

func (c *comparison) compare(at fieldpath.Path, before, after any, fields *fieldpath.Set) {
	if reflect.DeepEqual(before, after) {
		return
	}
	old, isDivided := children(before, fields)
	updated, isStillDivided := children(after, fields)
	if !isDivided || !isStillDivided {
		c.add("changed", at, before, after)
		return
	}
	found := len(c.found)
	c.compareParts(at, old, updated, fields)
	if _, isList := before.([]any); isList && len(c.found) == found {
		c.add("changed", at, before, after) // only the order
	}
}

func (c *comparison) compareParts(at fieldpath.Path, before, after []child, fields *fieldpath.Set) {
	for _, old := range before {
		path := append(at.Copy(), old.element)
		i := indexOf(after, old.element)
		switch {
		case isOfServer(path):
		case i < 0:
			c.add("removed", path, old.value, nil)
		default:
			c.compare(path, old.value, after[i].value, fields.WithPrefix(old.element))
		}
	}
	for _, updated := range after {
		if path := append(at.Copy(), updated.element); indexOf(before, updated.element) < 0 && !isOfServer(path) {
			c.add("added", path, nil, updated.value)
		}
	}
}

func indexOf(parts []child, element fieldpath.PathElement) int {
	return slices.IndexFunc(parts, func(part child) bool { return part.element.Equals(element) })
}

func (c *comparison) add(kind string, at fieldpath.Path, before, after any) {
	change := Change{Kind: kind, Path: c.mask.text(at)}
	switch {
	case c.mask.masks(at):
		change.Masked = true
	case kind == "added":
		change.New = shown(after)
	case kind == "removed":
		change.Old = shown(before)
	default:
		change.Old, change.New = shown(before), shown(after)
	}
	c.found = append(c.found, change)
}
