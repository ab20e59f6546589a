package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// An actionFunc changes an object, or one of its children.
type actionFunc func(context.Context, *user, *object, *rand.Rand) error

// An action is something that users do to an object, or to one of its children.
type action struct {
	name string
	// reverts names the parts of a child that the operator has to restore afterwards.
	reverts []string
	// isLast marks an action after which nothing is done to the object.
	isLast bool
	do     actionFunc
}

// actions returns all actions that may be done to the object and its children.
func (o *object) actions() []action {
	actions := []action{
		{name: "edit the spec", do: edit},
		{name: "edit the spec", do: edit},
		{name: "delete and create again", do: recreate},
		{name: "mark", do: func(ctx context.Context, u *user, o *object, random *rand.Rand) error {
			return u.markOwner(ctx, o, value(random))
		}},
		{name: "add a condition to", do: addCondition},
	}
	if o.isRemovable {
		actions = append(actions, action{name: "remove", isLast: true, do: remove})
	}
	if o.kind.Finalizer != "" {
		swap := action{name: "swap the finalizers of", do: swapFinalizers}
		actions = append(actions, swap, swap, action{name: "delete by force", do: deleteByForce})
	}
	switch o.kind.Name() {
	case "Site":
		toggle := action{name: "drop or restore the app of", do: togglePlain}
		actions = append(actions, toggle, toggle, toggle)
	case "PostgresWriter":
		actions = append(actions, rowActions()...)
	}
	sample := o.kind.Children(o.rename(o.kind.New())) // of the same kinds and names for every spec
	for i, child := range sample {
		actions = append(actions, childActions(o, i, child)...)
	}
	return actions
}

// edit has the owner ask for something else.
func edit(ctx context.Context, u *user, o *object, random *rand.Rand) error {
	owner := o.owner.DeepCopyObject().(client.Object)
	o.kind.Edit(random, owner)
	if before, ok := owners.VolumeOf(o.owner); ok {
		if after, _ := owners.VolumeOf(owner); after.Size != before.Size { // claim templates are immutable
			u.journal.allow(owners.Ref{Kind: "StatefulSet", Namespace: o.key.Namespace, Name: o.key.Name + "-mongodb"}, true)
		}
	}
	return u.respecify(ctx, o, owner)
}

// respecify replaces the owner's spec.
func (u *user) respecify(ctx context.Context, o *object, owner client.Object) error {
	spec, err := owners.SpecOf(owner)
	if err != nil {
		return err
	}
	replace := []owners.Manifest{{"op": "replace", "path": "/spec", "value": spec}}
	if err := u.patch(ctx, o.ref(), types.JSONPatchType, replace); err != nil {
		return err
	}
	o.owner = owner
	return nil
}

// togglePlain has a Site ask for its app and Ingress again, or drop them, often for a moment only.
func togglePlain(ctx context.Context, u *user, o *object, random *rand.Rand) error {
	if owners.IsPlain(o.owner) {
		return u.restoreApp(ctx, o)
	}
	for _, kind := range []string{"ReverseWordsApp", "Ingress"} {
		dropped := owners.Ref{Kind: kind, Namespace: o.key.Namespace, Name: o.key.Name}
		u.journal.allow(dropped, true)
		u.journal.allow(dropped, false)
	}
	if err := u.setPlain(ctx, o, true); err != nil {
		return err
	}
	switch random.IntN(4) {
	case 0:
		return nil
	case 1:
		if err := pass(ctx, time.Duration(random.Int64N(int64(2*time.Second)))); err != nil {
			return err
		}
	}
	return u.restoreApp(ctx, o)
}

func (u *user) restoreApp(ctx context.Context, o *object) error {
	err := u.setPlain(ctx, o, false)
	if err == nil {
		for _, kind := range []string{"ReverseWordsApp", "Ingress"} {
			u.journal.forbid(owners.Ref{Kind: kind, Namespace: o.key.Namespace, Name: o.key.Name})
		}
	}
	return err
}

func (u *user) setPlain(ctx context.Context, o *object, plain bool) error {
	owner := o.owner.DeepCopyObject().(client.Object)
	owners.SetPlain(owner, plain)
	return u.respecify(ctx, o, owner)
}

// create creates the owner with its current spec. An earlier object of its name may still be in deletion.
func (u *user) create(ctx context.Context, o *object) error {
	return await.Until(ctx, waitTimeout, func(ctx context.Context) error {
		return persist(ctx, func(ctx context.Context) error {
			err := u.client.Create(ctx, o.owner.DeepCopyObject().(client.Object))
			if !apierrors.IsAlreadyExists(err) {
				return err
			}
			live := o.ref().Object()
			if getErr := u.client.Get(ctx, o.key, live); getErr == nil && live.GetDeletionTimestamp() == nil {
				return nil // by an attempt without an answer
			}
			return err
		})
	})
}

// recreate deletes the owner, waits until it is gone, and creates another of the same name and spec.
func recreate(ctx context.Context, u *user, o *object, random *rand.Rand) error {
	how := pick(random, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)
	if o.keepsOwners {
		how = metav1.DeletePropagationBackground
	}
	if err := u.deleteOwner(ctx, o, how, false); err != nil {
		return err
	}
	return u.create(ctx, o)
}

// deleteByForce deletes the owner and removes all finalizers, and creates another.
func deleteByForce(ctx context.Context, u *user, o *object, _ *rand.Rand) error {
	if err := u.deleteOwner(ctx, o, metav1.DeletePropagationBackground, true); err != nil {
		return err
	}
	return u.create(ctx, o)
}

func remove(ctx context.Context, u *user, o *object, _ *rand.Rand) error {
	o.isGone = true
	return u.deleteOwner(ctx, o, metav1.DeletePropagationBackground, false)
}

// deleteOwner deletes the owner and waits until it is gone. Foreign finalizers are removed when they are the last ones,
// and by force all finalizers.
func (u *user) deleteOwner(ctx context.Context, o *object, how metav1.DeletionPropagation, byForce bool) error {
	u.journal.allow(o.ref(), false)
	err := persist(ctx, func(ctx context.Context) error {
		return client.IgnoreNotFound(u.client.Delete(ctx, o.ref().Object(), client.PropagationPolicy(how)))
	})
	if err != nil {
		return err
	}
	// The garbage collector has to begin anew after each fault of the control plane.
	return await.Until(ctx, u.plan.Duration+waitTimeout, func(ctx context.Context) error {
		live := o.ref().Object()
		if err := u.client.Get(ctx, o.key, live); err != nil {
			return client.IgnoreNotFound(err)
		}
		if live.GetDeletionTimestamp() != nil && (byForce || slices.Equal(live.GetFinalizers(), []string{guard})) {
			none := []byte(`{"metadata":{"finalizers":null}}`)
			return client.IgnoreNotFound(u.client.Patch(ctx, live, client.RawPatch(types.MergePatchType, none)))
		}
		return fmt.Errorf("%s still exists, with the finalizers %v", o.key, live.GetFinalizers())
	})
}
