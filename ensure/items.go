package ensure

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A digestInput is a sequence of texts and booleans, separated by quotes.
type digestInput []byte

func (n *digestInput) add(texts ...string) {
	for _, text := range texts {
		*n = strconv.AppendQuote(*n, text)
	}
}

func (n *digestInput) addBool(value bool) { *n = strconv.AppendBool(*n, value) }

func (n *digestInput) addKeys(desired, live map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		value, there := live[key]
		n.add(key, value)
		n.addBool(there)
	}
	n.add("")
}

// An item is a label, an annotation, a finalizer or an owner reference: several managers have such
// items beside each other. A list that did not exist before has no key.
type item struct{ member, key string }

// itemAt returns the item that path is in, such as metadata.labels[app] or
// metadata.ownerReferences[uid=x].name. Keys hold no brackets.
func itemAt(path string) (item, bool) {
	member, rest, _ := strings.Cut(path, "[")
	key, _, _ := strings.Cut(rest, "]")
	switch member {
	case "metadata.labels", "metadata.annotations", "metadata.finalizers":
	case "metadata.ownerReferences":
		key = strings.TrimPrefix(key, "uid=")
	default:
		return item{}, false
	}
	return item{member: strings.TrimPrefix(member, "metadata."), key: key}, true
}

func (i item) in(obj client.Object) bool {
	there := false
	switch i.member {
	case "labels":
		_, there = obj.GetLabels()[i.key]
	case "annotations":
		_, there = obj.GetAnnotations()[i.key]
	case "finalizers":
		there = slices.ContainsFunc(obj.GetFinalizers(), func(name string) bool { return i.key == "" || name == i.key })
	case "ownerReferences":
		there = slices.ContainsFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
			return i.key == "" || string(ref.UID) == i.key
		})
	}
	return there
}
