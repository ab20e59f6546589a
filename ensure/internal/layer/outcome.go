// Package layer has the types that the core of package ensure and its layers share.
package layer

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
)

// An Outcome is what became of a child in a call. Package ensure makes its Result of it.
type Outcome struct {
	Live      client.Object
	Operation Operation
	Cause     Cause // empty if nothing was written
	Changes   []Change
	Kept      []KeptField
	Stale     bool
}

// Unless returns found, or no outcome with an error.
func (found Outcome) Unless(err error) (Outcome, error) {
	if err != nil {
		return Outcome{}, err
	}
	return found, nil
}

// Shown returns an outcome whose paths may be shown.
func (found Outcome) Shown(s *fault.Subject) Outcome {
	found.Changes, found.Kept = slices.Clone(found.Changes), slices.Clone(found.Kept)
	for i := range found.Changes {
		found.Changes[i].Path = s.Shown(found.Changes[i].Path)
	}
	for i := range found.Kept {
		found.Kept[i].Path = s.Shown(found.Kept[i].Path)
	}
	return found
}

// An Operation is the change that was made to a child.
type Operation string

// The operations, which package ensure describes.
const (
	Unchanged Operation = "Unchanged"
	Created   Operation = "Created"
	Updated   Operation = "Updated"
	Recreated Operation = "Recreated"
	Deleting  Operation = "Deleting"
	Gone      Operation = "Gone"
	Released  Operation = "Released"
)

// A Cause is the reason for a write.
type Cause string

// The causes, which package ensure describes.
const (
	Missing        Cause = "Missing"
	DesiredChanged Cause = "DesiredChanged"
	Drifted        Cause = "Drifted"
	Adopted        Cause = "Adopted"
	Migrated       Cause = "Migrated"
	Unwanted       Cause = "Unwanted"
)

// ManagedFieldsPath is the path of a change of managed fields alone, which somebody had emptied.
const ManagedFieldsPath = "metadata.managedFields"

// A Change is a path that a write changed.
type Change struct {
	Path     string
	Old, New string
	Manager  string
}

// String returns the path, the old and new values if they are shown, and the manager.
func (c Change) String() string {
	text := c.Path
	if c.Old != "" || c.New != "" {
		text += " " + orNone(c.Old) + " -> " + orNone(c.New)
	}
	if c.Manager != "" {
		text += " (set by " + c.Manager + ")"
	}
	return text
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// Paths returns the paths of changes, each once.
func Paths(changes []Change) []string {
	var paths []string
	seen := map[string]bool{"": true}
	for _, change := range changes {
		if !seen[change.Path] {
			seen[change.Path], paths = true, append(paths, change.Path)
		}
	}
	return paths
}

// A KeptField is a field that the live object has although desired dropped it.
type KeptField struct {
	Path    string
	Manager string
}

// String returns the path and the manager.
func (k KeptField) String() string {
	if k.Manager == "" {
		return k.Path
	}
	return k.Path + " (set by " + k.Manager + ")"
}

// AndMore returns the end of a list that leaves out so many items.
func AndMore(changes int) string {
	if changes == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", changes)
}

// AppendNew appends a text to a list, unless the text is empty or there already.
func AppendNew(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}
