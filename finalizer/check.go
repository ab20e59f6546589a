package finalizer

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// check refuses what only code can mend, before anything is done.
func check(c client.Client, obj client.Object, steps []Step) error {
	switch {
	case isNil(c):
		return errors.New("cannot handle finalizers: the client is nil")
	case isNil(obj):
		return errors.New("cannot handle finalizers: the object is nil")
	case obj.GetName() == "":
		return fmt.Errorf("cannot handle finalizers of %s: it has no name; pass the object as it was read", nameOf(c, obj))
	}
	seen := make(map[string]bool, len(steps))
	for _, step := range steps {
		if problem := problemOf(step, seen); problem != "" {
			return fmt.Errorf("cannot handle finalizer %q of %s: %s", step.Name, nameOf(c, obj), problem)
		}
		seen[step.Name] = true
	}
	return nil
}

// problemOf judges a name as the API server does for every kind; more it says of
// built-in ones.
func problemOf(step Step, seen map[string]bool) string {
	if problems := validation.ValidateFinalizerName(step.Name, nil); len(problems) > 0 {
		return "the API server takes no such name: " + problems[0].Detail
	}
	switch {
	case seen[step.Name]:
		return "two steps have it"
	case step.Cleanup == nil:
		return "its step has no Cleanup"
	}
	return ""
}

func isNil(v any) bool {
	value := reflect.ValueOf(v)
	switch value.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func:
		return value.IsNil()
	}
	return false
}
