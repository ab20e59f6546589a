package ensure

import (
	"slices"
	"strings"

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
