package operator

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Stamp returns the labels that an operator adds to every child: its own label, and the childLabels
// of the flags. childLabels must not contain reserved labels, which have another meaning.
func Stamp(own, childLabels map[string]string, reserved ...string) (map[string]string, error) {
	for _, label := range reserved {
		if _, taken := childLabels[label]; taken {
			return nil, fmt.Errorf("--child-labels: %q is a label of the operator's own", label)
		}
	}
	stamp := maps.Clone(own)
	maps.Copy(stamp, childLabels)
	return stamp, nil
}

// CheckNames refuses an object called owner if its children cannot be named after the owner: their names
// contain the name of the owner, and all must be valid names of a Service. A shortened name would
// no longer show people the owner.
func CheckNames(owner string, children ...string) error {
	longest := 0
	for _, child := range children {
		longest = max(longest, len(child))
	}
	room := validation.DNS1035LabelMaxLength - (longest - len(owner))
	if room > 0 && len(owner) > room {
		return fmt.Errorf("the name %q has %d characters, and its children's names leave room for %d", owner, len(owner), room)
	}
	for _, child := range children {
		if problems := validation.IsDNS1035Label(child); len(problems) > 0 {
			return fmt.Errorf("a child of %q cannot be called %q: %s", owner, child, strings.Join(problems, "; "))
		}
	}
	return nil
}
