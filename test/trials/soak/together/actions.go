package together

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An actionFunc changes an object, or one of its children.
type actionFunc func(context.Context, *worker, *object, *rand.Rand) error

// An action is something that people do to an object, or to one of its children.
type action struct {
	name string
	// reverts names the part of a child that the action has the operator restore: actions with the same
	// name are counted together, so that they cause no contest.
	reverts string
	// isOrphaning marks an action that removes a child's owner for a moment.
	isOrphaning bool
	// isLast marks an action after which nothing is done to the object.
	isLast bool
	do     actionFunc
}

// errTooLate means that the object of an action no longer exists.
var errTooLate = errors.New("it came too late")

// allActions returns all actions on objects of the kind.
func (k *kind) allActions() []action {
	actions := slices.Concat(k.actions, []action{
		{name: "edit the spec", do: edit},
		{name: "edit the spec", do: edit},
		{name: "delete and make again", do: recreate},
		{name: "remove", isLast: true, do: remove},
		{name: "mark", do: func(ctx context.Context, w *worker, o *object, random *rand.Rand) error {
			return w.mark(ctx, o, value(random))
		}},
	})
	if k.finalizer != "" {
		actions = append(actions, action{name: "take the finalizer off", do: removeFinalizer})
	}
	sample := &object{kind: k, owner: k.newOwner()} // the children are of the same kinds, whatever it asks for
	for i := range sample.children() {
		child, _ := sample.child(i)
		for _, a := range actionsOnChild(child.kind, i) {
			a.name += " the " + child.kind
			if a.reverts != "" {
				a.reverts += " " + child.kind + " " + child.name
			}
			actions = append(actions, a)
		}
	}
	return actions
}

func value(random *rand.Rand) string { return fmt.Sprintf("v%d", random.IntN(1000)) }

// edit has the owner ask for something else.
func edit(ctx context.Context, w *worker, o *object, random *rand.Rand) error {
	owner := o.owner.DeepCopyObject().(client.Object)
	o.kind.edit(random, owner)
	spec, err := specOf(owner)
	if err != nil {
		return err
	}
	if err := w.patch(ctx, owner, types.JSONPatchType, []manifest{{"op": "replace", "path": "/spec", "value": spec}}); err != nil {
		return err
	}
	o.owner = owner
	return nil
}

// recreate deletes the owner, waits until the owner is gone and creates another of the same name and
// spec.
func recreate(ctx context.Context, w *worker, o *object, random *rand.Rand) error {
	how := pick(random, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)
	if o.isRemovable {
		how = metav1.DeletePropagationBackground
	}
	if err := w.deleteOwner(ctx, o, how); err != nil {
		return err
	}
	return w.create(ctx, o)
}

func remove(ctx context.Context, w *worker, o *object, _ *rand.Rand) error {
	o.isGone = true
	return w.client.Delete(ctx, o.owner.DeepCopyObject().(client.Object))
}

// removeFinalizer removes all finalizers, as an impatient user may do.
func removeFinalizer(ctx context.Context, w *worker, o *object, _ *rand.Rand) error {
	return w.patch(ctx, o.owner, types.MergePatchType, manifest{"metadata": manifest{"finalizers": nil}})
}

// isTooLate reports whether err is caused by others who changed or deleted the object.
func isTooLate(err error) bool {
	return errors.Is(err, errTooLate) || apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
