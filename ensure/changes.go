package ensure

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// changes lists what an apply changed, going by the server's answer. live may be
// older than what the server had, so a version that we know already means that
// nothing changed, and so does a difference in nothing but what others write beside
// us.
func (c *child) changes(live, answer client.Object) []Change {
	version := answer.GetResourceVersion()
	known, remembered := c.known(answer)
	if !c.dryRun && (version == live.GetResourceVersion() || remembered && known.Version == version) {
		return nil
	}
	found := canon.Diff(live, answer)
	if len(found) == 0 {
		return nil
	}
	isOthers := c.othersMeanwhile(live, answer)
	var changes []Change
	for _, change := range found {
		if !isOthers(change.Path) {
			changes = append(changes, c.changeOf(change))
		}
	}
	return changes
}

// changesBy lists what an apply changed, and whose it was.
func (c *child) changesBy(applied application) []Change {
	var changes []Change
	if applied.tried { // made of what was just read: nobody came between
		changes = c.changesOf(canon.Diff(applied.before, applied.after))
	} else {
		changes = c.changes(applied.before, applied.after)
	}
	return noteRemoved(changes, applied.removed)
}

func (c *child) changesOf(found []canon.Change) []Change {
	var changes []Change
	for _, change := range found {
		changes = append(changes, c.changeOf(change))
	}
	return changes
}

// changeOf returns the change without its values if the kind is sensitive: a number can be a PIN.
func (c *child) changeOf(change canon.Change) Change {
	if c.isSensitive(c.gvk.GroupKind()) {
		return Change{Path: change.Path}
	}
	return Change{Path: change.Path, Old: change.Old, New: change.New}
}

// noteRemoved has changes tell what had to be removed, and whose it was. Without a Go type
// changes name items by their index, and a removed item may have been replaced by the next.
func noteRemoved(changes []Change, removed []obstacle.Obstacle) []Change {
	for _, o := range removed {
		text, noted := managedfields.Text(o.Path), false
		steps := canon.Steps(text)
		for i := range changes {
			at := canon.Steps(changes[i].Path)
			if pointerTo(at) == o.Pointer && !slices.Equal(at, steps) {
				changes[i].Path, at = text, steps
			}
			if n := min(len(at), len(steps)); slices.Equal(at[:n], steps[:n]) {
				changes[i].Manager, noted = joinNew(changes[i].Manager, o.Managers), true
			}
		}
		if !noted {
			changes = append(changes, Change{Path: text, Manager: joinNew("", o.Managers)})
		}
	}
	return changes
}

// among returns what changes show to be removed, and what they cannot show: what the server filled
// in again is not.
func (c *child) among(removed []obstacle.Obstacle, changes []Change) []obstacle.Obstacle {
	return slices.DeleteFunc(slices.Clone(removed), func(o obstacle.Obstacle) bool {
		return !c.isUnknown(o) && !slices.ContainsFunc(changes, func(change Change) bool {
			steps := canon.Steps(change.Path)
			n := min(len(o.Path), len(steps))
			return managedfields.MayBeAt(o.Path[:n], steps[:n])
		})
	})
}

// pointerTo returns the JSON pointer that steps with indexes lead to.
func pointerTo(steps []string) string {
	pointer := ""
	for _, step := range steps {
		pointer = jsonpatch.Join(pointer, step)
	}
	return pointer
}

// joinNew appends managers to a list with commas, each once.
func joinNew(list string, managers []string) string {
	var all []string
	if list != "" {
		all = strings.Split(list, ", ")
	}
	for _, manager := range managers {
		all = appendNew(all, manager)
	}
	return strings.Join(all, ", ")
}

// othersMeanwhile tells the paths that another manager wrote between our read and our apply.
// Of the metadata, ours are the items that desired has, and those that it had and that this
// apply removed. Elsewhere, others' are those that they own, and that neither were ours nor
// are: what nobody owns, such as a default that goes with a value of ours, is a change like
// any other.
func (c *child) othersMeanwhile(live, answer client.Object) func(path string) bool {
	before, after := c.ownedIn(live), c.ownedIn(answer)
	others := managedfields.Others(answer, c.fieldOwner)
	return func(path string) bool {
		if i, ok := itemAt(path); ok {
			return !i.in(c.stamped) && (i.in(answer) || len(live.GetManagedFields()) > 0 && !managedfields.Owns(before, path))
		}
		isOurs := managedfields.Owns(before, path) || managedfields.Owns(after, path)
		return path != "" && !isOurs && managedfields.ManagerOf(others, path) != ""
	}
}

// ownedIn returns the fields that our applies own in obj.
func (c *child) ownedIn(obj client.Object) *fieldpath.Set {
	return managedfields.Fields(managedfields.Applied(obj, c.fieldOwner))
}

// unsatisfied lists where live is not as desired.
func (c *child) unsatisfied(live client.Object) []Change {
	return c.changesOf(canon.Unsatisfied(live, c.applied(c.desired)))
}

func pathsOf(changes []Change) []string {
	var paths []string
	for _, change := range changes {
		paths = appendNew(paths, change.Path)
	}
	return paths
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
