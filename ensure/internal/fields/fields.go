// Package fields reads the paths of the options that leave fields to others, or take fields from older versions, and refuses
// an apply that would remove a field that is left to others.
package fields

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

// Given are the paths that the caller gave to each option.
type Given struct{ Once, Release, Retire []string }

// The options, as errors name them.
const (
	once    = "ensure.Once"
	release = "ensure.Release"
	retire  = "ensure.Retire"
)

// Ignored returns the edits that remove from desired what Once names. labels are those of all children.
func (g Given) Ignored(c *layer.Child, labels map[string]string) ([]delta.Edit, error) {
	var ignored []delta.Edit
	for _, path := range g.Once {
		given, err := parse(c, path, once)
		if err != nil {
			return nil, err
		}
		if problem := problemWithOnce(given.Steps, labels); problem != "" {
			return nil, c.Subject.Refuse("", given.Named()+problem)
		}
		ignored = append(ignored, delta.Edit{Path: given.Steps})
	}
	return ignored, nil
}

func problemWithOnce(steps []string, labels map[string]string) string {
	switch steps[0] {
	case "apiVersion", "kind", "status":
		return "is not written by ensure"
	case "metadata":
		place, ok := layer.ItemOf(steps)
		_, isEveryones := labels[place.Key]
		switch {
		case !ok:
			return "is neither a label nor an annotation: of the metadata, only these can be named, by their keys"
		case isEveryones && place.Member == "labels":
			return "is a label of ensure.WithLabels"
		}
	}
	return ""
}

// RemoveIgnoredItems removes the labels and annotations that are ignored from desired. The content stays; see
// layer.Child.Ignored.
func RemoveIgnoredItems(desired client.Object, ignored []delta.Edit) {
	labels, annotations := maps.Clone(desired.GetLabels()), maps.Clone(desired.GetAnnotations())
	for _, edit := range ignored {
		switch place, _ := layer.ItemOf(edit.Path); place.Member {
		case "labels":
			delete(labels, place.Key)
		case "annotations":
			delete(annotations, place.Key)
		}
	}
	desired.SetLabels(labels)
	desired.SetAnnotations(annotations)
}

// Read returns the paths that are left to others, and those that are retired. It refuses paths that the child of a cannot have,
// or that ensure itself writes.
func (g Given) Read(a *server.Applier) (left, retired []layer.GivenPath, err error) {
	c := a.Server.Child
	for at, edit := range c.Ignored {
		if place, ok := layer.ItemOf(edit.Path); ok && slices.Contains(c.Operator.Digests, place) {
			return nil, nil, c.Subject.Refuse(g.Once[at], "is given to ensure.Once, but holds the digest")
		}
		left = append(left, layer.GivenPath{Path: g.Once[at], Option: once, Steps: edit.Path})
	}
	for _, path := range g.Release {
		given, err := parseUnspecified(a, path, release, "is released")
		if err != nil {
			return nil, nil, err
		}
		left = append(left, given)
	}
	for _, path := range g.Retire {
		given, err := parseUnspecified(a, path, retire, "is retired")
		if err != nil {
			return nil, nil, err
		}
		retired = append(retired, given)
	}
	return left, retired, nil
}

// parse reads a path given to an option. It refuses a path that the child cannot have.
func parse(c *layer.Child, path, option string) (layer.GivenPath, error) {
	given := layer.GivenPath{Path: path, Option: option}
	steps, err := paths.Parse(path)
	if err != nil {
		return given, c.Subject.Refuse("", given.Named()+err.Error())
	}
	if c.Kind.IsSecret() && steps[0] == "stringData" {
		return given, c.Subject.Refuse("", given.Named()+"is written only: the API server keeps it in data, so name it there")
	}
	if _, err := delta.Specifies(c.Desired, steps); err != nil {
		return given, c.Subject.Refuse("", given.Named()+err.Error()+"; in a Set, ensure.OnlyFor gives it to one child")
	}
	given.Steps = steps
	return given, nil
}

// parseUnspecified reads a path given to an option. It refuses a path that the child cannot have, or that desired
// specifies.
func parseUnspecified(a *server.Applier, path, option, problem string) (layer.GivenPath, error) {
	c := a.Server.Child
	given, err := parse(c, path, option)
	if err != nil {
		return given, err
	}
	depth, err := a.Specified(given.Steps)
	if err != nil {
		return given, err
	}
	if depth == len(given.Steps) {
		return given, c.Subject.Refuse(path, problem+", so leave it out of desired "+
			"(the owner, the digest and the labels of ensure.WithLabels are part of desired)")
	}
	return given, nil
}

// CheckLeft refuses an apply that would remove a field which is left to others: the API server merges it as part of a
// larger value, or removes it with the list item around it. before is the patch of live that comes before the apply.
func CheckLeft(a *server.Applier, live client.Object, before *managedfields.Patch) error {
	c := a.Server.Child
	if len(c.Left) == 0 {
		return nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return c.Subject.Unencodable(err)
	}
	own := c.Operator.Owned(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: before.Entries()}})
	for _, left := range c.Left {
		if _, err := delta.Specifies(live, left.Steps); err != nil {
			return c.Subject.Refuse("", left.Named()+err.Error())
		}
		if found(left.Steps) == nil {
			continue
		}
		depth, err := a.Specified(left.Steps)
		if err != nil {
			return err
		}
		if isPart(c, live, left.Steps, depth) {
			return c.Subject.Refuse(left.Path, "is given to "+left.Option+", but the next apply would remove it, "+
				"because the API server merges it as part of a larger value: "+
				"name the list or the map around it, or the item by all its keys")
		}
		for n := depth; n < len(left.Steps)-1; n++ {
			if found(left.Steps[:n]).IsList() && own.OwnsAt(left.Steps[:n+1]) {
				item := paths.First(left.Path, n+1)
				return c.Subject.Refuse(left.Path, "is to stay, but desired has nothing left in "+item+
					", which would be removed with it: give "+left.Option+" "+item)
			}
		}
	}
	return nil
}

// isPart reports whether an apply would replace the place at steps, of which desired specifies some, as part of a larger
// value. What another manager owns there shows that the API server merges the parts.
func isPart(c *layer.Child, live client.Object, steps []string, specified int) bool {
	larger := func(entry metav1.ManagedFieldsEntry) bool {
		n := managedfields.OwnedBy(&entry).PartOf(steps)
		isOurs := entry.Manager == c.Operator.FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply
		return n > 0 && (isOurs || n <= specified)
	}
	inside := func(entry metav1.ManagedFieldsEntry) bool { return managedfields.OwnedBy(&entry).HasAt(steps) }
	entries := managedfields.Entries(live)
	return slices.ContainsFunc(entries, larger) && !slices.ContainsFunc(entries, inside)
}
