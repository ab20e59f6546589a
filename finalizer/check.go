package finalizer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/object"
)

// A refusal is the error of a call that the caller has to fix. Nothing was done.
type refusal string

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

func (r refusal) Error() string { return string(r) }

// Unwrap returns the class of errors that ensure.Retry and ensure.Reason recognize.
func (refusal) Unwrap() error { return answer.ErrRefused }

// check refuses arguments that only a change of the code can fix.
func check(c client.Client, obj client.Object, steps []Step) error {
	switch {
	case object.IsNil(c):
		return refuse("cannot handle finalizers: the client is nil")
	case object.IsUnusable(obj):
		return refuse("cannot handle finalizers: the object is nil, or embeds a pointer that is nil")
	case obj.GetName() == "":
		return refuse("cannot handle finalizers of %s: metadata.name is empty: pass the object as it was read", nameOf(c, obj))
	}
	seen := make(map[string]bool, len(steps))
	for _, step := range steps {
		if problem := problemOf(step, seen); problem != "" {
			return refuse("cannot handle finalizer %q of %s: %s", step.Name, nameOf(c, obj), problem)
		}
		seen[step.Name] = true
	}
	return nil
}

// problemOf checks a step, and its name by the rules for all kinds; built-in kinds are
// stricter.
func problemOf(step Step, seen map[string]bool) string {
	if problems := validation.ValidateFinalizerName(step.Name, nil); len(problems) > 0 {
		return "the API server does not accept this name: " + problems[0].Detail
	}
	switch {
	case seen[step.Name]:
		return "two steps have this name"
	case step.Cleanup == nil:
		return "its step has no Cleanup function"
	}
	return ""
}
