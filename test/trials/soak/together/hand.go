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

// A hand acts on objects that no other hand touches, so that their final state is known.
type hand struct {
	stage   *stage
	client  client.Client
	objects []*object
	deeds   []deed
	// done and late count deeds by kind: late counts deeds whose object did not exist.
	done, late map[*kind]int
	// releases holds the pending releases of finalizers and the like.
	releases errgroup.Group
}

// makeAll makes the objects of the hand.
func (h *hand) makeAll(ctx context.Context) error {
	for _, o := range h.objects {
		if err := h.create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// markAll marks them and all of their children.
func (h *hand) markAll(ctx context.Context) error {
	for i, o := range h.objects {
		value := fmt.Sprintf("first-%d", i)
		if err := h.mark(ctx, o, value); err != nil {
			return err
		}
		for child := range o.children() {
			if err := h.markChild(ctx, o, child, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// work does the deeds, each at its time. A late deed is done at once.
func (h *hand) work(ctx context.Context) error {
	begun := time.Now()
	for _, d := range h.deeds {
		if err := pass(ctx, time.Until(begun.Add(d.at))); err != nil {
			return err
		}
		switch err := d.act.do(ctx, h, d.object, d.random); {
		case err == nil:
			h.done[d.object.kind]++
		case isTooLate(err):
			h.late[d.object.kind]++
		default:
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	return h.releases.Wait()
}

// later does something after a while, in parallel to the hand's other work.
func (h *hand) later(ctx context.Context, after time.Duration, do func() error) {
	h.releases.Go(func() error {
		if err := pass(ctx, after); err != nil {
			return err
		}
		return do()
	})
}

func (h *hand) patch(ctx context.Context, obj client.Object, kind types.PatchType, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	target := obj.DeepCopyObject().(client.Object) // the answer is of no interest
	return h.client.Patch(ctx, target, client.RawPatch(kind, text))
}

// create creates the owner with its current spec. An earlier object of its name may still be being
// deleted.
func (h *hand) create(ctx context.Context, o *object) error {
	return await.Until(ctx, patience, func(ctx context.Context) error {
		return h.client.Create(ctx, o.owner.DeepCopyObject().(client.Object))
	})
}

// deleteOwner deletes the owner and waits until the owner is gone.
func (h *hand) deleteOwner(ctx context.Context, o *object, how metav1.DeletionPropagation) error {
	if err := h.client.Delete(ctx, o.owner.DeepCopyObject().(client.Object), client.PropagationPolicy(how)); err != nil {
		return err
	}
	return await.Until(ctx, patience, func(ctx context.Context) error {
		err := h.client.Get(ctx, o.key, o.kind.newOwner())
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
func (h *hand) mark(ctx context.Context, o *object, value string) error {
	gvk, err := apiutil.GVKForObject(o.owner, h.client.Scheme())
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	obj.SetNamespace(o.key.Namespace)
	obj.SetName(o.key.Name)
	return h.apply(ctx, obj, bodyOf(nil, gvk.Kind, value))
}

func (h *hand) markChild(ctx context.Context, o *object, index int, value string) error {
	child, want := o.child(index)
	return h.apply(ctx, child.object(), bodyOf(want, child.kind, value))
}

// apply marks an object that is there.
func (h *hand) apply(ctx context.Context, obj *unstructured.Unstructured, body manifest) error {
	live := obj.DeepCopy()
	if err := h.client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
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
	err := h.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), client.FieldOwner(foreign), client.ForceOwnership)
	if err != nil {
		return err
	}
	h.stage.marks.set(refOf(sent.Object, obj.GetNamespace()), mark{uid: live.GetUID(), body: body})
	return nil
}
