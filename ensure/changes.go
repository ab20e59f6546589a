package ensure

import (
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// noteRemoved adds the removed obstacles and their managers to changes. Without a Go type, changes name
// items by their index, and the next item may have taken the place of a removed one.
func noteRemoved(changes []Change, removed []obstacle.Obstacle) []Change {
	for _, o := range removed {
		text, noted := managedfields.Text(o.Path), false
		steps := paths.Steps(text)
		for i := range changes {
			at := paths.Steps(changes[i].Path)
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

// changes returns the changes that an apply made, by comparing live with the answer of the API server.
// live may be older than the object that the API server had. So nothing changed if the version of the
// answer is known already, or if only fields differ that others wrote meanwhile.
func (u update) changes(live, answer client.Object) []Change {
	version := answer.GetResourceVersion()
	known, remembered := u.known(answer)
	if !u.dryRun && (version == live.GetResourceVersion() || remembered && known.Version == version) {
		return nil
	}
	found := delta.Diff(live, answer)
	if len(found) == 0 {
		return nil
	}
	isOthers := u.othersMeanwhile(live, answer)
	var changes []Change
	for _, change := range found {
		if !isOthers(change.Path) {
			changes = append(changes, u.changeOf(change))
		}
	}
	return changes
}

// changesBy returns the changes that an apply made, with the managers of removed fields.
func (u update) changesBy(applied application) []Change {
	var changes []Change
	if applied.tried { // made of an object that was just read: nobody wrote in between
		changes = u.changesOf(delta.Diff(applied.before, applied.after))
	} else {
		changes = u.changes(applied.before, applied.after)
	}
	return noteRemoved(changes, applied.removed)
}

// among returns the removed obstacles that changes contain, and those that changes cannot contain. An
// obstacle to which the API server gave a default value again is not removed.
func (u update) among(removed []obstacle.Obstacle, changes []Change) []obstacle.Obstacle {
	return slices.DeleteFunc(slices.Clone(removed), func(o obstacle.Obstacle) bool {
		return !u.isUnknown(o) && !slices.ContainsFunc(changes, func(change Change) bool {
			steps := paths.Steps(change.Path)
			n := min(len(o.Path), len(steps))
			return managedfields.MayBeAt(o.Path[:n], steps[:n])
		})
	})
}

// othersMeanwhile reports whether another manager wrote a path between the read and the apply. In the
// metadata, the items of desired and the items that this apply removed are ours. Elsewhere, a path
// belongs to others if they own it and this field owner owned it neither before nor after. A change of
// a field that nobody owns, such as a default, counts as a change by the apply.
func (u update) othersMeanwhile(live, answer client.Object) func(path string) bool {
	before, after := u.ownedIn(live), u.ownedIn(answer)
	others := managedfields.Others(answer, u.fieldOwner)
	return func(path string) bool {
		if i, ok := itemAt(path); ok {
			return !i.in(u.stamped) && (i.in(answer) || len(live.GetManagedFields()) > 0 && !managedfields.Owns(before, path))
		}
		isOurs := managedfields.Owns(before, path) || managedfields.Owns(after, path)
		return path != "" && !isOurs && managedfields.ManagerOf(others, path) != ""
	}
}
