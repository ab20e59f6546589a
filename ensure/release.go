package ensure

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

// Release gives up the ownership of fields and keeps their values, for example of spec.replicas for an
// autoscaler. It is not enough to drop a field from desired: if nobody else owns the field, the API
// server then removes it or resets it to the default. A Deployment with 20 replicas would have 1 until
// the autoscaler acts.
//
// Paths have the form of Result.Changes and Error.Paths:
//
//	spec.replicas
//	metadata.annotations[example.com/x]
//	spec.template.spec.containers[name=web].resources
//	spec.ports[port=80,protocol=TCP].nodePort
//
// Each path includes everything below it, and desired must not specify the path. If an earlier apply
// had such a field, one additional request before the next apply moves the field to the field manager
// "<field owner>-released", until another program changes the value. So the field stays, whatever desired drops
// around it, and you may remove the option once all children were reconciled with it. Another program that
// applies another value without force gets a conflict with this manager: kubectl apply --server-side
// --force-conflicts, once. If the released field is in a list item that desired drops, the call is refused,
// and the error says to release the item.
//
// A field that the API server merges as a whole, such as a selector or a command, can be released
// only as a whole, and a list item only by all its keys. Otherwise the call is refused (ErrRefused).
//
// Without paths the option has no effect.
func Release(paths ...string) Option {
	return func(o *options) { o.release = append(o.release, paths...) }
}

// Once names fields that are set at creation only, such as a generated password or the claim templates
// of a StatefulSet. The create sends their values in desired; later writes do not:
//
//	secret.Data = map[string][]byte{"user": []byte("app"), "password": newPassword()}
//	ensure.Object(ctx, e, secret, ensure.Once("data[password]"))
//
// In later calls, desired may have other values for these paths, or none. The digest and the comparison
// ignore these paths, so a difference is neither DesiredChanged nor Drifted, and a change or removal by
// somebody else stays. To bring back a value that somebody removed, leave out the option while the live
// object lacks the value.
//
// Paths have the form that Release describes, and each includes everything below it. In the metadata,
// only single labels and annotations can be named. For the stringData of a Secret, name data, where the
// API server stores it. A field that the API server merges as a whole, such as a selector or a list
// without keys, can be named only as a whole: otherwise the first apply after the creation is refused
// (ErrRefused), and nothing is lost.
//
// The create makes our field owner the owner of the values, and the first apply without them would
// remove them. So one additional request before that apply gives up the values, as Release does. This
// also happens for a child that was applied without Once before. Adopt, MigrateFrom and the removal of
// conflicting fields do not change these paths.
//
// If somebody deletes the child, the next create sends the current values of desired. If Recreate
// replaces the child, the new object gets the values of the old object, and the values of desired for
// paths that the old object does not have. Between the two requests, the old values are only in memory:
// if the program ends there, they are lost.
//
// Without the option, these values are applied like all others. Without paths, the option has no
// effect. For objects that are never written again, use IfMissing.
func Once(paths ...string) Option {
	return func(o *options) { o.once = append(o.once, paths...) }
}

// checkPaths refuses arguments of the options that leave fields to others, or take them from older versions.
func (c *child) checkPaths() error {
	if !c.changesOwnership() {
		return nil
	}
	if err := c.checkManagers(); err != nil {
		return err
	}
	if err := c.checkOnce(); err != nil {
		return err
	}
	for at, edit := range c.Ignored {
		c.Left = append(c.Left, layer.LeftPath{Path: c.once[at], Option: "ensure.Once", Steps: edit.Path})
	}
	for _, path := range c.release {
		steps, err := c.parseUnspecified(path, "ensure.Release", "is released")
		if err != nil {
			return err
		}
		c.Left = append(c.Left, layer.LeftPath{Path: path, Option: "ensure.Release", Steps: steps})
	}
	for _, path := range c.retire {
		steps, err := c.parseUnspecified(path, "ensure.Retire", "is retired")
		if err != nil {
			return err
		}
		c.Retired = append(c.Retired, steps)
	}
	return nil
}

func (c *child) checkManagers() error {
	if slices.Contains(c.Older, "") {
		return c.Subject.Refuse("", "ensure.MigrateFrom needs the names of managers, as metadata.managedFields of the child has them")
	}
	return nil
}

// parsePath returns the steps of a path given to an option. It refuses a path that the child cannot
// have.
func (c *child) parsePath(path, option string) ([]string, error) {
	given := unfitPath(path, option)
	steps, err := paths.Parse(path)
	if err != nil {
		return nil, c.Subject.Refuse("", given+err.Error())
	}
	if c.Kind.IsSecret() && steps[0] == "stringData" {
		return nil, c.Subject.Refuse("", given+"is written only: the API server keeps it in data, so name it there")
	}
	if _, err := delta.Specifies(c.Desired, steps); err != nil {
		return nil, c.Subject.Refuse("", given+err.Error()+"; in a Set, ensure.OnlyFor gives it to one child")
	}
	return steps, nil
}

// unfitPath begins a refusal of a path.
func unfitPath(path, option string) string {
	return fmt.Sprintf("the path %q given to %s ", path, option)
}

// parseUnspecified returns the steps of a path given to an option. It refuses a path that the child cannot have, or that
// desired specifies.
func (c *child) parseUnspecified(path, option, problem string) ([]string, error) {
	steps, err := c.parsePath(path, option)
	if err != nil {
		return nil, err
	}
	depth, err := c.specified(steps)
	if err != nil {
		return nil, err
	}
	if depth == len(steps) {
		return nil, c.Subject.Refuse(path, problem+", so leave it out of desired "+
			"(the owner, the digest and the labels of ensure.WithLabels are part of desired)")
	}
	return steps, nil
}

// specified returns how many steps of a path desired specifies, as it is sent.
func (c *child) specified(steps []string) (int, error) {
	stamped, err := c.withDigest()
	if err != nil {
		return 0, err
	}
	return delta.Specifies(stamped, steps)
}

// readOnce checks the paths, and makes the edits that remove them from desired.
func (c *child) readOnce() error {
	for _, path := range c.once {
		steps, err := c.parsePath(path, "ensure.Once")
		if err != nil {
			return err
		}
		if problem := c.problemWithOnce(steps); problem != "" {
			return c.Subject.Refuse("", fmt.Sprintf("the path %q given to ensure.Once %s", path, problem))
		}
		c.Ignored = append(c.Ignored, delta.Edit{Path: steps})
	}
	return nil
}

func (c *child) problemWithOnce(steps []string) string {
	switch steps[0] {
	case "apiVersion", "kind", "status":
		return "is not written by ensure"
	case "metadata":
		place, ok := singleItem(steps)
		_, isEveryones := c.Ensurer.labels[place.Key]
		switch {
		case !ok:
			return "is neither a label nor an annotation: of the metadata, only these can be named, by their keys"
		case isEveryones && place.Member == "labels":
			return "is a label of ensure.WithLabels"
		}
	}
	return ""
}

// singleItem returns the label or annotation that steps lead to.
func singleItem(steps []string) (layer.Item, bool) {
	if len(steps) != 3 || steps[0] != "metadata" || steps[1] != "labels" && steps[1] != "annotations" {
		return layer.Item{}, false
	}
	return layer.Item{Member: steps[1], Key: steps[2]}, true
}

// splitOnce keeps a copy of desired for the creation, and removes the labels and annotations that Once
// names from desired. The content stays; see layer.Child.Ignored.
func (c *child) splitOnce() {
	if len(c.Ignored) == 0 {
		return
	}
	c.Birth = c.Kind.ShallowCopy(c.Desired)
	labels, annotations := maps.Clone(c.Desired.GetLabels()), maps.Clone(c.Desired.GetAnnotations())
	for _, edit := range c.Ignored {
		switch place, _ := singleItem(edit.Path); place.Member {
		case "labels":
			delete(labels, place.Key)
		case "annotations":
			delete(annotations, place.Key)
		}
	}
	c.Desired.SetLabels(labels)
	c.Desired.SetAnnotations(annotations)
}

// checkOnce refuses paths that ensure itself writes.
func (c *child) checkOnce() error {
	for at, edit := range c.Ignored {
		place, ok := singleItem(edit.Path)
		if !ok {
			continue
		}
		if slices.Contains(c.Operator.Digests, place) {
			return c.Subject.Refuse(c.once[at], "is given to ensure.Once, but holds the digest")
		}
	}
	return nil
}

// checkLeft refuses an apply that would remove a field which is left to others: the API server merges it as part of a
// larger value, or removes it with the list item around it.
func (u update) checkLeft(live client.Object, before *managedfields.Patch) error {
	if len(u.Left) == 0 {
		return nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return u.Subject.Unencodable(err)
	}
	own := u.ownedAfter(before)
	for _, left := range u.Left {
		if _, err := delta.Specifies(live, left.Steps); err != nil {
			return u.Subject.Refuse("", unfitPath(left.Path, left.Option)+err.Error())
		}
		if found(left.Steps) == nil {
			continue
		}
		depth, err := u.specified(left.Steps)
		if err != nil {
			return err
		}
		if u.isPart(live, left.Steps, depth) {
			return u.Subject.Refuse(left.Path, "is given to "+left.Option+", but the next apply would remove it, "+
				"because the API server merges it as part of a larger value: "+
				"name the list or the map around it, or the item by all its keys")
		}
		for n := depth; n < len(left.Steps)-1; n++ {
			if found(left.Steps[:n]).IsList() && own.OwnsAt(left.Steps[:n+1]) {
				item := firstSteps(left.Path, n+1)
				return u.Subject.Refuse(left.Path, "is to stay, but desired has nothing left in "+item+
					", which would be removed with it: give "+left.Option+" "+item)
			}
		}
	}
	return nil
}

// isPart reports whether an apply would replace the place at steps, of which desired specifies some, as part of a larger
// value. What another manager owns there shows that the API server merges the parts.
func (u update) isPart(live client.Object, steps []string, specified int) bool {
	larger := func(entry metav1.ManagedFieldsEntry) bool {
		n := managedfields.OwnedBy(&entry).PartOf(steps)
		isOurs := entry.Manager == u.Operator.FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply
		return n > 0 && (isOurs || n <= specified)
	}
	inside := func(entry metav1.ManagedFieldsEntry) bool {
		return managedfields.OwnedBy(&entry).HasAt(steps)
	}
	entries := managedfields.Entries(live)
	return slices.ContainsFunc(entries, larger) && !slices.ContainsFunc(entries, inside)
}

// desiredToCreate returns desired as the creation sends it, with its digest, and with the values of a
// replaced object.
func (c *child) desiredToCreate(replaced []delta.Edit) (canon.Object, error) {
	if len(c.Ignored) == 0 {
		return c.withDigest()
	}
	if err := c.Operator.Store.Set(c.Birth, c.Digest); err != nil {
		return nil, c.digestError(err)
	}
	return delta.Edited(c.Birth, replaced...), nil
}

// onceValues returns the values of live for the fields that Once names.
func (c *child) onceValues(live client.Object) ([]delta.Edit, error) {
	if len(c.Ignored) == 0 {
		return nil, nil
	}
	found, err := delta.Values(live)
	if err != nil {
		return nil, c.Subject.Unencodable(err)
	}
	var values []delta.Edit
	for _, edit := range c.Ignored {
		if value := found(edit.Path); value != nil {
			values = append(values, delta.Edit{Path: edit.Path, Value: value})
		}
	}
	return values, nil
}

// firstSteps returns the first steps of a path.
func firstSteps(path string, steps int) string {
	key := false
	for at, char := range path {
		switch {
		case key:
			key = char != ']'
		case char == '.' || char == '[':
			key = char == '['
			if steps--; steps == 0 {
				return path[:at]
			}
		}
	}
	return path
}
