package together

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/test/harness/await"
)

// A worker acts on objects that no other worker touches, so that their final state is known.
type worker struct {
	env     *environment
	client  client.Client
	objects []*object
	actions []scheduledAction
	// done and late count actions by kind: late counts actions whose object did not exist.
	done, late map[*kind]int
	// releases holds the pending releases of finalizers and the like.
	releases errgroup.Group
}

// makeAll makes the objects of the worker.
func (w *worker) makeAll(ctx context.Context) error {
	for _, o := range w.objects {
		if err := w.create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// markAll marks them and all of their children.
func (w *worker) markAll(ctx context.Context) error {
	for i, o := range w.objects {
		value := fmt.Sprintf("first-%d", i)
		if err := w.mark(ctx, o, value); err != nil {
			return err
		}
		for child := range o.children() {
			if err := w.markChild(ctx, o, child, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// work carries out the actions, each at its time. A late action is carried out at once.
func (w *worker) work(ctx context.Context) error {
	begun := time.Now()
	for _, d := range w.actions {
		if err := pass(ctx, time.Until(begun.Add(d.at))); err != nil {
			return err
		}
		switch err := d.action.do(ctx, w, d.object, d.random); {
		case err == nil:
			w.done[d.object.kind]++
		case isTooLate(err):
			w.late[d.object.kind]++
		default:
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	return w.releases.Wait()
}

// later does something after a while, in parallel to the worker's other actions.
func (w *worker) later(ctx context.Context, after time.Duration, do func() error) {
	w.releases.Go(func() error {
		if err := pass(ctx, after); err != nil {
			return err
		}
		return do()
	})
}

func (w *worker) patch(ctx context.Context, obj client.Object, kind types.PatchType, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	target := obj.DeepCopyObject().(client.Object) // the answer is of no interest
	return w.client.Patch(ctx, target, client.RawPatch(kind, text))
}

// create creates the owner with its current spec. An earlier object of its name may still be being
// deleted.
func (w *worker) create(ctx context.Context, o *object) error {
	return await.Until(ctx, waitTimeout, func(ctx context.Context) error {
		return w.client.Create(ctx, o.owner.DeepCopyObject().(client.Object))
	})
}

// deleteOwner deletes the owner and waits until the owner is gone.
func (w *worker) deleteOwner(ctx context.Context, o *object, how metav1.DeletionPropagation) error {
	if err := w.client.Delete(ctx, o.owner.DeepCopyObject().(client.Object), client.PropagationPolicy(how)); err != nil {
		return err
	}
	return await.Until(ctx, waitTimeout, func(ctx context.Context) error {
		err := w.client.Get(ctx, o.key, o.kind.newOwner())
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return fmt.Errorf("%s does not go", o.key)
		}
		return err
	})
}

// mark adds foreign fields to the owner.
func (w *worker) mark(ctx context.Context, o *object, value string) error {
	gvk, err := apiutil.GVKForObject(o.owner, w.client.Scheme())
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	obj.SetNamespace(o.key.Namespace)
	obj.SetName(o.key.Name)
	return w.apply(ctx, obj, bodyOf(nil, gvk.Kind, value))
}

func (w *worker) markChild(ctx context.Context, o *object, index int, value string) error {
	child, want := o.child(index)
	return w.apply(ctx, child.object(), bodyOf(want, child.kind, value))
}

// apply marks an object that is there.
func (w *worker) apply(ctx context.Context, obj *unstructured.Unstructured, body manifest) error {
	live := obj.DeepCopy()
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
		return err
	}
	if live.GetDeletionTimestamp() != nil {
		return errTooLate
	}
	sent := &unstructured.Unstructured{Object: (&unstructured.Unstructured{Object: body}).DeepCopy().Object}
	sent.SetGroupVersionKind(obj.GroupVersionKind())
	sent.SetNamespace(obj.GetNamespace())
	sent.SetName(obj.GetName())
	sent.SetUID(live.GetUID()) // no other is marked, and none made
	err := w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), client.FieldOwner(foreign), client.ForceOwnership)
	if err != nil {
		return err
	}
	w.env.marks.set(refOf(sent.Object, obj.GetNamespace()), mark{uid: live.GetUID(), body: body})
	return nil
}
