package ensure

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// Once names content that is set at creation only, such as a generated password or the claim
// templates of a StatefulSet. The create sends the values that desired has there; later writes do
// not:
//
//	secret.Data = map[string][]byte{"user": []byte("app"), "password": newPassword()}
//	ensure.Object(ctx, e, secret, ensure.Once("data[password]"))
//
// In later passes, desired may have other values for these paths, or none. The digest and the
// comparison ignore them, so a difference is neither DesiredChanged nor Drifted, and a change or
// removal by somebody else stays.
//
// Paths have the form that Release describes, and each includes everything below it. In the metadata,
// single labels and annotations can be named. Name the stringData of a Secret as data, where the API
// server stores it. A field that the API server merges as a whole, such as a selector or a list
// without keys, can be named only as a whole: otherwise the first apply after the creation is refused
// (ErrRefused), and nothing is lost.
//
// The create makes our field owner the owner of the values, and the first apply without them would
// remove them. So one additional request before that apply gives them up, as Release does. This also
// holds for a child that was applied without Once before. Adopt, MigrateFrom and the repair of a
// refused merge do not touch these paths.
//
// If somebody deletes the child, the next create sends the values that desired has then. If Recreate
// replaces the child, the new object gets the values of the old one, and for paths that the old one
// does not have, the values of desired. They are kept in memory between the two requests: if the
// program ends there, they are lost.
//
// Without the option, desired's values are applied like all others. Without paths it has no effect. For
// objects that are never written again as a whole, use IfMissing.
func Once(paths ...string) Option {
	return func(o *options) { o.once = append(o.once, paths...) }
}

// readOnce checks the paths, and makes the edits that remove them from desired.
func (c *child) readOnce() error {
	for _, path := range c.once {
		steps, err := c.parsePath(path, "ensure.Once")
		if err != nil {
			return err
		}
		if problem := c.problemWithOnce(steps); problem != "" {
			return c.refuse("", fmt.Sprintf("the path %q given to ensure.Once %s", path, problem))
		}
		c.unsent = append(c.unsent, delta.Edit{Path: steps})
	}
	return nil
}

func (c *child) problemWithOnce(steps []string) string {
	switch steps[0] {
	case "apiVersion", "kind", "status":
		return "is not for ensure to write"
	case "metadata":
		place, ok := singleItem(steps)
		_, isEveryones := c.Ensurer.labels[place.key]
		switch {
		case !ok:
			return "is neither a label nor an annotation: of the metadata, only these can be named, by their keys"
		case isEveryones && place.member == "labels":
			return "is a label of ensure.WithLabels"
		}
	}
	return ""
}

// singleItem returns the label or annotation that steps lead to.
func singleItem(steps []string) (item, bool) {
	if len(steps) != 3 || steps[0] != "metadata" || steps[1] != "labels" && steps[1] != "annotations" {
		return item{}, false
	}
	return item{member: steps[1], key: steps[2]}, true
}

// splitOnce keeps a copy of desired for the creation, and removes the labels and annotations that Once
// names from desired. The content stays; see applied.
func (c *child) splitOnce() {
	if len(c.unsent) == 0 {
		return
	}
	c.created = c.copyForStamping(c.desired)
	labels, annotations := maps.Clone(c.desired.GetLabels()), maps.Clone(c.desired.GetAnnotations())
	for _, edit := range c.unsent {
		switch place, _ := singleItem(edit.Path); place.member {
		case "labels":
			delete(labels, place.key)
		case "annotations":
			delete(annotations, place.key)
		}
	}
	c.desired.SetLabels(labels)
	c.desired.SetAnnotations(annotations)
}

// applied returns obj without the fields that Once names.
func (c *child) applied(obj client.Object) canon.Object { return delta.Edited(obj, c.unsent...) }

func (c *child) isMadeOnce(path fieldpath.Path) bool {
	return slices.ContainsFunc(c.unsent, func(edit delta.Edit) bool { return managedfields.IsAt(path, edit.Path) })
}

// part returns desired as an apply sends it, with its digest.
func (c *child) part() (canon.Object, error) {
	stamped, err := c.withDigest()
	if err != nil {
		return nil, err
	}
	return delta.Edited(stamped, c.kept...), nil
}

// whole returns desired as the creation sends it, with its digest, and with the values of a
// replaced object.
func (c *child) whole(replaced []delta.Edit) (canon.Object, error) {
	if len(c.unsent) == 0 {
		return c.withDigest()
	}
	if err := c.store.Set(c.created, c.digest); err != nil {
		return nil, c.unfitDigest(err)
	}
	return delta.Edited(c.created, replaced...), nil
}

// onceIn returns the values of live for the fields that Once names.
func (c *child) onceIn(live client.Object) ([]delta.Edit, error) {
	if len(c.unsent) == 0 {
		return nil, nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return nil, c.unfit(err)
	}
	var values []delta.Edit
	for _, edit := range c.unsent {
		if value := found(edit.Path); value != nil {
			values = append(values, delta.Edit{Path: edit.Path, Value: value})
		}
	}
	return values, nil
}

// onceInServer returns them as the server has them, for the object that replaces live.
func (c *child) onceInServer(ctx context.Context, live client.Object) ([]delta.Edit, error) {
	if len(c.unsent) == 0 {
		return nil, nil
	}
	complete, err := c.rereadJSON(ctx, "delete", live.GetUID())
	if err != nil {
		return nil, err
	}
	if complete.GetResourceVersion() != live.GetResourceVersion() {
		return nil, c.conflict("delete", "it was changed meanwhile", nil)
	}
	return c.onceIn(complete)
}

// checkOnce refuses paths that ensure itself writes.
func (c *child) checkOnce() error {
	for i, edit := range c.unsent {
		place, ok := singleItem(edit.Path)
		if !ok {
			continue
		}
		if _, err := c.withDigest(); err != nil {
			return err
		}
		if place.in(c.stamped) {
			return c.refuse(c.once[i], "is given to ensure.Once, but holds the digest")
		}
	}
	return nil
}
