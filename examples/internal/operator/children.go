package operator

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Stamp returns the labels that an operator adds to every child: the operator's own labels, and the
// childLabels of the flags. It returns an error if childLabels contain a reserved label.
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

// CheckNames returns an error if a child has a name that is not valid for a Service. The names of the
// children contain the name of their owner, and are not shortened, so that people recognise the owner.
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

// Kind returns the kind of obj, whose Go type must have the name of the kind.
func Kind(obj client.Object) string {
	return reflect.TypeOf(obj).Elem().Name()
}
