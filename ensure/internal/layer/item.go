package layer

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An Item is a label, an annotation, a finalizer or an owner reference: several managers have such
// items beside each other. A list that did not exist before has no key.
type Item struct{ Member, Key string }

// ItemAt returns the item that path is in, such as metadata.labels[app] or
// metadata.ownerReferences[uid=x].name. Keys hold no brackets.
func ItemAt(path string) (Item, bool) {
	member, rest, _ := strings.Cut(path, "[")
	key, _, _ := strings.Cut(rest, "]")
	switch member {
	case "metadata.labels", "metadata.annotations", "metadata.finalizers":
	case "metadata.ownerReferences":
		key = strings.TrimPrefix(key, "uid=")
	default:
		return Item{}, false
	}
	return Item{Member: strings.TrimPrefix(member, "metadata."), Key: key}, true
}

// ItemOf returns the label or annotation that steps lead to.
func ItemOf(steps []string) (Item, bool) {
	if len(steps) != 3 || steps[0] != "metadata" || steps[1] != "labels" && steps[1] != "annotations" {
		return Item{}, false
	}
	return Item{Member: steps[1], Key: steps[2]}, true
}

// In reports whether obj has the item.
func (i Item) In(obj metav1.Object) bool {
	there := false
	switch i.Member {
	case "labels":
		_, there = obj.GetLabels()[i.Key]
	case "annotations":
		_, there = obj.GetAnnotations()[i.Key]
	case "finalizers":
		there = slices.ContainsFunc(obj.GetFinalizers(), func(name string) bool { return i.Key == "" || name == i.Key })
	case "ownerReferences":
		there = slices.ContainsFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
			return i.Key == "" || string(ref.UID) == i.Key
		})
	}
	return there
}

// Items are the labels and annotations in which an operator keeps its digests.
type Items []Item

// ItemsOf returns the labels and annotations of obj.
func ItemsOf(obj metav1.Object) (all Items) {
	for key := range obj.GetLabels() {
		all = append(all, Item{Member: "labels", Key: key})
	}
	for key := range obj.GetAnnotations() {
		all = append(all, Item{Member: "annotations", Key: key})
	}
	return all
}

// Has reports whether path leads to one of the items.
func (all Items) Has(path string) bool {
	found, ok := ItemAt(path)
	return ok && slices.Contains(all, found)
}

// Without returns paths without those of the items, unless there is no other.
func (all Items) Without(paths []string) []string {
	if rest := slices.DeleteFunc(slices.Clone(paths), all.Has); len(rest) > 0 {
		return rest
	}
	return paths
}
