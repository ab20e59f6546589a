package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

func value(random *rand.Rand) string { return fmt.Sprintf("v%d", random.IntN(1000)) }

// markOwner adds foreign fields to the owner.
func (u *user) markOwner(ctx context.Context, o *object, value string) error {
	return u.add(ctx, o.ref(), markFor(nil, o.kind.Name(), value), types.ApplyPatchType)
}

// markChild adds foreign fields to a child: by an apply, or by a patch as kubectl edit sends it.
func (u *user) markChild(ctx context.Context, o *object, index int, random *rand.Rand) error {
	child, want, ok := o.child(index)
	if !ok {
		return errTooLate
	}
	how := types.ApplyPatchType
	if child.Kind != "ReverseWordsApp" && random.IntN(2) == 0 {
		how = types.StrategicMergePatchType
	}
	return u.add(ctx, child, markFor(want.Want, child.Kind, value(random)), how)
}

// add adds fields to an object that exists, and only to that one.
func (u *user) add(ctx context.Context, to owners.Ref, fields owners.Manifest, how types.PatchType) error {
	live, err := u.read(ctx, to)
	if err != nil {
		return err
	}
	body := (&unstructured.Unstructured{Object: fields}).DeepCopy()
	body.SetUID(live.GetUID())
	options := []client.PatchOption{client.FieldOwner(foreign)}
	if how == types.ApplyPatchType {
		body.SetGroupVersionKind(owners.Kinds[to.Kind])
		options = append(options, client.ForceOwnership)
	}
	text, err := body.MarshalJSON()
	if err != nil {
		return err
	}
	err = persist(ctx, func(ctx context.Context) error {
		return u.client.Patch(ctx, to.Object(), client.RawPatch(how, text), options...)
	})
	if err == nil {
		u.journal.noteMark(u.name, to, live.GetUID(), fields)
	}
	return err
}

// addCondition adds a condition to the status of the owner.
func addCondition(ctx context.Context, u *user, o *object, random *rand.Rand) error {
	live, err := u.read(ctx, o.ref())
	if err != nil {
		return err
	}
	condition := owners.Manifest{
		"type": "example.org/Checked", "status": "True", "reason": "Looked", "message": value(random),
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}
	body := &unstructured.Unstructured{Object: owners.Manifest{"status": owners.Manifest{"conditions": []any{condition}}}}
	body.SetGroupVersionKind(owners.Kinds[o.kind.Name()])
	body.SetUID(live.GetUID())
	text, err := body.MarshalJSON()
	if err != nil {
		return err
	}
	err = persist(ctx, func(ctx context.Context) error {
		return u.client.Status().Patch(ctx, o.ref().Object(), client.RawPatch(types.ApplyPatchType, text),
			client.FieldOwner(foreign), client.ForceOwnership)
	})
	if err == nil {
		u.journal.noteMark(u.name, o.ref(), live.GetUID(), owners.Manifest{"status": body.Object["status"]})
	}
	return err
}

// swapFinalizers removes all finalizers of the owner, as an impatient administrator does, and adds one of its own while
// the operator adds its finalizer again.
func swapFinalizers(ctx context.Context, u *user, o *object, _ *rand.Rand) error {
	u.journal.erase(o.ref(), "metadata", "finalizers")
	none := owners.Manifest{"metadata": owners.Manifest{"finalizers": nil}}
	return u.duringWrite(o.ref(),
		func() error { return u.patch(ctx, o.ref(), types.MergePatchType, none) },
		func() error {
			uid, err := u.guard(ctx, o.ref())
			if err == nil {
				u.journal.noteMark(u.name, o.ref(), uid, owners.Manifest{"metadata": owners.Manifest{"finalizers": []any{guard}}})
			}
			return err
		})
}

// guard adds a foreign finalizer to an object, and returns its UID.
func (u *user) guard(ctx context.Context, of owners.Ref) (uid types.UID, err error) {
	err = u.rewrite(ctx, of, func(live client.Object) error {
		uid = live.GetUID()
		if live.GetDeletionTimestamp() != nil {
			return errTooLate
		}
		controllerutil.AddFinalizer(live, guard)
		return nil
	})
	return uid, err
}

// unguard removes the foreign finalizer of the object with that UID.
func (u *user) unguard(ctx context.Context, of owners.Ref, uid types.UID) error {
	return client.IgnoreNotFound(u.rewrite(ctx, of, func(live client.Object) error {
		if live.GetUID() == uid {
			controllerutil.RemoveFinalizer(live, guard)
		}
		return nil
	}))
}

// rewrite changes an object, on a fresh copy if others write in between.
func (u *user) rewrite(ctx context.Context, of owners.Ref, change func(client.Object) error) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return persist(ctx, func(ctx context.Context) error {
			live := of.Object()
			if err := u.client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
				return err
			}
			before := live.DeepCopy()
			if err := change(live); err != nil {
				return err
			}
			return u.client.Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		})
	})
}
