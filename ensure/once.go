package ensure

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// Once names content that is made at creation only, such as a generated password or the claim
// templates of a StatefulSet. The values that desired has there are sent with the create and
// never again:
//
//	secret.Data = map[string][]byte{"user": []byte("app"), "password": newPassword()}
//	ensure.Object(ctx, e, secret, ensure.Once("data[password]"))
//
// In later passes desired may have other values there, or none. The digest and the comparison
// leave these paths out, so that a difference is neither DesiredChanged nor Drifted, and whoever
// changes or removes such a value is not undone.
//
// Paths read as for Release, and each stands for all that is below it. Of the metadata, single
// labels and annotations can be named; what a Secret has in stringData is named as data, where
// the server keeps it. What the server writes only as a whole, such as a selector or a list
// without keys, can only be named as a whole: else the first apply after the creation is refused
// (ErrRefused), and nothing is lost.
//
// The server books the values as ours when they are created, and would remove them in the first
// apply without them. So one more request comes before that apply, which gives them up, as Release
// does. A child that was applied without Once before keeps its values in the same way. Adopt,
// MigrateFrom and the removal of what stands in the way of an apply leave these paths alone.
//
// If somebody deletes the child, it is created with the values that desired has then. If Recreate
// replaces it, the new one gets the values of the old one, and those of desired for what the old
// one does not have. They are in memory between the two requests: if the program ends there, they
// are lost.
//
// Without the option, desired's values are applied like all others. Without paths it does nothing.
// IfMissing is for objects that are never to be written again at all.
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
		c.unsent = append(c.unsent, canon.Edit{Path: steps})
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

// splitOnce keeps desired as it is created, and takes the labels and annotations that Once names
// out of what is applied later. Its content stays as it is: see applied.
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

// applied returns obj without what Once names.
func (c *child) applied(obj client.Object) canon.Object { return canon.Edited(obj, c.unsent...) }

func (c *child) isMadeOnce(path fieldpath.Path) bool {
	return slices.ContainsFunc(c.unsent, func(edit canon.Edit) bool { return managedfields.IsAt(path, edit.Path) })
}

// part returns desired as an apply sends it, with its digest.
func (c *child) part() (canon.Object, error) {
	stamped, err := c.withDigest()
	if err != nil {
		return nil, err
	}
	return canon.Edited(stamped, c.kept...), nil
}

// whole returns desired as the creation sends it, with its digest, and with the values of a
// replaced object.
func (c *child) whole(replaced []canon.Edit) (canon.Object, error) {
	if len(c.unsent) == 0 {
		return c.withDigest()
	}
	if err := c.store.Set(c.created, c.digest); err != nil {
		return nil, c.unfitDigest(err)
	}
	return canon.Edited(c.created, replaced...), nil
}

// onceIn returns the values that live has of what Once names.
func (c *child) onceIn(live client.Object) ([]canon.Edit, error) {
	if len(c.unsent) == 0 {
		return nil, nil
	}
	found, err := canon.Values(live)
	if err != nil {
		return nil, c.unfit(err)
	}
	var values []canon.Edit
	for _, edit := range c.unsent {
		if value := found(edit.Path); value != nil {
			values = append(values, canon.Edit{Path: edit.Path, Value: value})
		}
	}
	return values, nil
}

// onceInServer returns them as the server has them, for the object that replaces live.
func (c *child) onceInServer(ctx context.Context, live client.Object) ([]canon.Edit, error) {
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

// checkOnce refuses to leave out what ensure itself writes.
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
