package ensure

import (
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// Release hands fields over to somebody else, such as spec.replicas to an autoscaler, with
// the values they have. Leaving a field out of desired that was in it before is not enough:
// the server then removes what nobody else owns, or sets it to its default, and a
// Deployment of 20 pods has 1 until the autoscaler notices.
//
// Paths read as in Result.Changes and Error.Paths:
//
//	spec.replicas
//	metadata.annotations[example.com/x]
//	spec.template.spec.containers[name=web].resources
//	spec.ports[port=80,protocol=TCP].nodePort
//
// Each stands for all that is below it, and desired must leave it out. If the child was
// applied with such a field before, or an old manager given to MigrateFrom owns it, one
// more request comes before the next apply, which gives it up; that is all, so the option
// may go as soon as all children have been through, or stay. What the server merges only
// as a whole (a selector, a command) is released as a whole: a path inside it releases
// nothing, and what desired drops there goes. If desired
// drops everything else around a field, too, the server would remove both together: that
// is refused, and names what to release instead.
//
// Without paths it does nothing.
func Release(paths ...string) Option {
	return func(o *options) { o.release = append(o.release, paths...) }
}

// checkReleased refuses what is no path of the child's, and what desired holds on to.
func (c *child) checkReleased() error {
	for _, path := range c.release {
		steps, err := canon.ParsePath(path)
		if err != nil {
			return c.refuse("", fmt.Sprintf("the path %q given to ensure.Release %v", path, err))
		}
		depth, err := c.specified(steps)
		if err != nil {
			return c.refuse("", fmt.Sprintf(
				"the path %q given to ensure.Release %v; in a Set, ensure.OnlyFor gives it to one child", path, err))
		}
		if depth == len(steps) {
			return c.refuse(path, "is released, so leave it out of desired (owner, digest and ensure.WithLabels are in it, too)")
		}
	}
	return nil
}

// specified is how many steps of a path desired specifies, as it is sent.
func (c *child) specified(steps []string) (int, error) {
	stamped, err := c.withDigest()
	if err != nil {
		return 0, err
	}
	return canon.Specifies(stamped, steps)
}

// withoutReleased takes what is released out of fields.
func (c *child) withoutReleased(fields *fieldpath.Set) (*fieldpath.Set, error) {
	all := fields
	for _, path := range c.release {
		steps, _ := canon.ParsePath(path) // was checked
		_, fields = managedfields.Split(fields, func(p fieldpath.Path) bool { return managedfields.IsAt(p, steps) })
	}
	for _, path := range c.release {
		steps, _ := canon.ParsePath(path)
		if released, _ := managedfields.Split(all, func(p fieldpath.Path) bool { return managedfields.IsAt(p, steps) }); released.Empty() {
			continue
		}
		var err error
		if fields, err = c.withoutParents(fields, path, steps); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// withoutParents gives up what is around a released field and desired does not specify:
// the apply would remove it, and the field with it. If more is in there that desired
// dropped, that would stay, too, which is for the caller to say.
func (c *child) withoutParents(fields *fieldpath.Set, path string, steps []string) (*fieldpath.Set, error) {
	depth, err := c.specified(steps)
	if err != nil {
		return nil, err
	}
	for n := depth + 1; n < len(steps); n++ {
		beside, _ := managedfields.Split(fields, func(p fieldpath.Path) bool {
			return len(p) > n && managedfields.IsAt(p, steps[:n]) && !managedfields.IsAt(p, steps[:n+1])
		})
		if !beside.Empty() {
			parent := beginning(path, n)
			return nil, c.refuse(path, "is released, but desired has nothing left in "+parent+
				", which would be removed with it: release "+parent)
		}
	}
	_, rest := managedfields.Split(fields, func(p fieldpath.Path) bool { return managedfields.IsAt(p, steps[:depth+1]) })
	return rest, nil
}

// beginning is a path's first steps.
func beginning(path string, steps int) string {
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
