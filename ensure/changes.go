package ensure

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/canon"
)

// changes lists what an apply changed, going by the server's answer. live may be
// older than what the server had, so a version that we know already means that
// nothing changed, and so does a difference in nothing but what others write beside
// us.
func (c *child) changes(live, answer client.Object) []Change {
	version := answer.GetResourceVersion()
	known, remembered := c.known(answer)
	if !c.dryRun && (version == live.GetResourceVersion() || remembered && known.version == version) {
		return nil
	}
	found := canon.Diff(live, answer)
	if len(found) == 0 {
		return nil
	}
	theirs := c.foreignFields(live, answer)
	var changes []Change
	for _, change := range found {
		if !c.isOthers(change.Path, live, answer) && !theirs(change.Path) {
			changes = append(changes, Change(change))
		}
	}
	return changes
}

// foreignFields tells the paths that another manager wrote between our read and our apply:
// they are its own, and neither were ours nor are. What nobody owns, such as a default that
// goes with a value of ours, is a change like any other.
func (c *child) foreignFields(live, answer client.Object) func(path string) bool {
	before, after := fieldsOf(applied(live, c.fieldOwner)), fieldsOf(applied(answer, c.fieldOwner))
	others := c.othersIn(answer)
	return func(path string) bool {
		return path != "" && !owns(before, path) && !owns(after, path) && newestOwner(others, []string{path}) != ""
	}
}

// isOthers reports whether path is in an item of the metadata that another manager wrote
// between our read and our apply. Ours are those that desired has, and those that it had
// and that this apply removed.
func (c *child) isOthers(path string, live, answer client.Object) bool {
	i, ok := itemAt(path)
	if !ok || i.in(c.stamped) {
		return false
	}
	return i.in(answer) || len(live.GetManagedFields()) > 0 && !i.ownedBy(applied(live, c.fieldOwner))
}

// An item is a label, an annotation, a finalizer or an owner: what several managers have
// in the metadata beside one another. A list that was not there before has no key.
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

// ownedBy reports whether a manager's entry owns the item. An unreadable entry owns
// nothing.
func (i item) ownedBy(entry *metav1.ManagedFieldsEntry) bool {
	if entry == nil || entry.FieldsV1 == nil {
		return false
	}
	var fields struct {
		Metadata map[string]map[string]json.RawMessage `json:"f:metadata"`
	}
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		return false
	}
	member := fields.Metadata["f:"+i.member]
	_, owned := member[i.field()]
	return owned || i.key == "" && len(member) > 0
}

// field is the item's name in fieldsV1: by key in a map, by value in a set, by its merge
// key in a list.
func (i item) field() string {
	switch i.member {
	case "finalizers":
		return "v:" + strconv.Quote(i.key)
	case "ownerReferences":
		return `k:{"uid":` + strconv.Quote(i.key) + "}"
	}
	return "f:" + i.key
}
