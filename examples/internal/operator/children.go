package operator

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The recommended labels of Kubernetes that the operators set. Selectors use the first three:
// https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/
const (
	NameLabel      = "app.kubernetes.io/name"
	InstanceLabel  = "app.kubernetes.io/instance"
	ComponentLabel = "app.kubernetes.io/component"
	ManagedByLabel = "app.kubernetes.io/managed-by"
)

// Stamp returns the labels that the operator of that name adds to every child: ManagedByLabel, and the
// childLabels of the flags. It returns an error if childLabels contain one of the labels above or a
// reserved label.
func Stamp(name string, childLabels map[string]string, reserved ...string) (map[string]string, error) {
	for _, label := range append(reserved, NameLabel, InstanceLabel, ComponentLabel, ManagedByLabel) {
		if _, taken := childLabels[label]; taken {
			return nil, fmt.Errorf("--child-labels: %q is a label of the operator's own", label)
		}
	}
	stamp := map[string]string{ManagedByLabel: name}
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
