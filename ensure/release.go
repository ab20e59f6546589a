package ensure

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

// Release hands fields over to somebody else with the values that they have, such as spec.replicas to
// an autoscaler. Leaving a field out of desired that was in desired before is not enough: the API
// server then removes the field, or resets it to its default, if nobody else owns it. A Deployment
// with 20 replicas would have 1 until the autoscaler acts.
//
// Paths have the form of Result.Changes and Error.Paths:
//
//	spec.replicas
//	metadata.annotations[example.com/x]
//	spec.template.spec.containers[name=web].resources
//	spec.ports[port=80,protocol=TCP].nodePort
//
// Each path includes everything below it, and desired must not specify it. If the child was applied
// with such a field before, or if a manager given to MigrateFrom owns it, one additional request
// before the next apply gives it up. The option may be removed once all children were reconciled with
// it. Keep it if desired may drop the last other field of the same map or item: the API server would
// then remove the released field, too, as nobody owns it. If the released field is in a list
// item that desired drops, the call is refused, and the error says to release the item.
//
// A field that the API server merges as a whole, such as a selector or a command, can be released
// only as a whole, and a list item only by all its keys. Otherwise an apply that would remove it is
// refused (ErrRefused).
//
// Without paths the option has no effect.
func Release(paths ...string) Option {
	return func(o *options) { o.release = append(o.release, paths...) }
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

func mayBePart(live client.Object, path []string) bool {
	entries := live.GetManagedFields()
	for i := range entries {
		if managedfields.MayBePart(managedfields.Fields(&entries[i]), path) {
			return true
		}
	}
	return false
}

// checkReleased refuses paths that the child cannot have and paths that desired specifies.
func (i *intent) checkReleased() error {
	for _, path := range i.release {
		steps, err := i.parsePath(path, "ensure.Release")
		if err != nil {
			return err
		}
		depth, err := i.specified(steps)
		if err != nil {
			return err
		}
		if depth == len(steps) {
			return i.refuse(path, "is released, so leave it out of desired (owner, digest and ensure.WithLabels are in it, too)")
		}
	}
	return nil
}

// parsePath returns the steps of a path given to an option. It refuses a path that the child cannot
// have.
func (i *intent) parsePath(path, option string) ([]string, error) {
	given := unfitPath(path, option)
	steps, err := paths.Parse(path)
	if err != nil {
		return nil, i.refuse("", given+err.Error())
	}
	if i.isSecret() && steps[0] == "stringData" {
		return nil, i.refuse("", given+"is written only: the API server keeps it in data, so name it there")
	}
	if _, err := delta.Specifies(i.desired, steps); err != nil {
		return nil, i.refuse("", given+err.Error()+"; in a Set, ensure.OnlyFor gives it to one child")
	}
	return steps, nil
}

// unfitPath begins a refusal of a path.
func unfitPath(path, option string) string {
	return fmt.Sprintf("the path %q given to %s ", path, option)
}

// specified returns how many steps of a path desired specifies, as it is sent.
func (i *intent) specified(steps []string) (int, error) {
	stamped, err := i.withDigest()
	if err != nil {
		return 0, err
	}
	return delta.Specifies(stamped, steps)
}

// A handed path is one that Release or Once leaves to others.
type handed struct {
	path, option string
	steps        []string
}

func (i *intent) handed() []handed {
	var all []handed
	add := func(option string, named []string) {
		for _, path := range named {
			steps, _ := paths.Parse(path) // was checked
			all = append(all, handed{path: path, option: option, steps: steps})
		}
	}
	add("ensure.Release", i.release)
	add("ensure.Once", i.once)
	return all
}
