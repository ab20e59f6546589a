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

// A doing changes an object, or one of its children.
type doing func(context.Context, *hand, *object, *rand.Rand) error

// An act is something that people do to an object, or to one of its children.
type act struct {
	name string
	// reverts names the part of a child that the act has the operator restore: acts with the same
	// name are counted together, so that they cause no contest.
	undoes string
	// isOrphaning marks an act that removes a child's owner for a moment.
	isOrphaning bool
	// isLast marks an act after which nothing is done to the object.
	isLast bool
	do     doing
}

// errTooLate means that the object of an act no longer exists.
var errTooLate = errors.New("it came too late")

// all returns all acts on objects of the kind.
func (k *kind) all() []act {
	acts := slices.Concat(k.acts, []act{
		{name: "edit the spec", do: edit},
		{name: "edit the spec", do: edit},
		{name: "delete and make again", do: remake},
		{name: "remove", isLast: true, do: remove},
		{name: "mark", do: func(ctx context.Context, h *hand, o *object, random *rand.Rand) error {
			return h.mark(ctx, o, value(random))
		}},
	})
	if k.finalizer != "" {
		acts = append(acts, act{name: "take the finalizer off", do: unfinalize})
	}
	sample := &object{kind: k, owner: k.newOwner()} // the children are of the same kinds, whatever it asks for
	for i := range sample.children() {
		child, _ := sample.child(i)
		for _, a := range actsOnChild(child.kind, i) {
			a.name += " the " + child.kind
			if a.undoes != "" {
				a.undoes += " " + child.kind + " " + child.name
			}
			acts = append(acts, a)
		}
	}
	return acts
}

func value(random *rand.Rand) string { return fmt.Sprintf("v%d", random.IntN(1000)) }

// edit has the owner ask for something else.
func edit(ctx context.Context, h *hand, o *object, random *rand.Rand) error {
	owner := o.owner.DeepCopyObject().(client.Object)
	o.kind.edit(random, owner)
	spec, err := specOf(owner)
	if err != nil {
		return err
	}
	if err := h.patch(ctx, owner, types.JSONPatchType, []manifest{{"op": "replace", "path": "/spec", "value": spec}}); err != nil {
		return err
	}
	o.owner = owner
	return nil
}

// remake deletes the owner, waits until the owner is gone and creates another of the same name and
// spec.
func remake(ctx context.Context, h *hand, o *object, random *rand.Rand) error {
	how := pick(random, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)
	if o.isMortal {
		how = metav1.DeletePropagationBackground
	}
	if err := h.deleteOwner(ctx, o, how); err != nil {
		return err
	}
	return h.create(ctx, o)
}

func remove(ctx context.Context, h *hand, o *object, _ *rand.Rand) error {
	o.isGone = true
	return h.client.Delete(ctx, o.owner.DeepCopyObject().(client.Object))
}

// unfinalize takes all finalizers off, as somebody does who loses patience.
func unfinalize(ctx context.Context, h *hand, o *object, _ *rand.Rand) error {
	return h.patch(ctx, o.owner, types.MergePatchType, manifest{"metadata": manifest{"finalizers": nil}})
}

// isTooLate reports whether err is caused by others who changed or deleted the object.
func isTooLate(err error) bool {
	return errors.Is(err, errTooLate) || apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
