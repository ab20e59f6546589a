package together

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// held is how long a foreign finalizer delays a deletion.
const held = time.Second

// guard is that finalizer.
const guard = "example.org/guard"

// actionsOnChild returns the actions on the child of this index, according to its kind.
func actionsOnChild(kind string, index int) []action {
	actions := []action{
		{name: "mark", do: markChild(index)},
		{name: "take the owner from", reverts: "metadata", isOrphaning: true, do: patchChild(index, withoutOwner)},
		{name: "take the labels from", reverts: "metadata", do: patchChild(index, withoutLabels)},
		{name: "take the digest from", reverts: "metadata", do: patchChild(index, withoutDigest)},
		{name: "replace", reverts: "metadata", isOrphaning: true, do: replaceChild(index)},
		{name: "delete", reverts: "deletion", do: deleteChild(index, metav1.DeletePropagationBackground)},
		{name: "delete, guarded,", reverts: "deletion", do: deleteGuarded(index)},
	}
	switch kind {
	case "Secret":
		actions = append(actions, action{name: "edit the data of", reverts: "data", do: patchChild(index, otherData)})
	case "Service":
		actions = append(actions,
			action{name: "edit the port of", reverts: "port", do: editPort(index)},
			action{name: "add to the selector of", reverts: "selector", do: patchChild(index, otherSelector)})
	case "Deployment", "StatefulSet":
		actions = append(actions,
			action{name: "scale", reverts: "replicas", do: scale(index)},
			action{name: "edit the image of", reverts: "image", do: patchChild(index, otherImage)},
			action{name: "delete a pod of", do: deletePod(index)},
			action{name: "delete, pods first,", reverts: "deletion", do: deleteChild(index, metav1.DeletePropagationForeground)},
			action{
				name: "delete, and not the pods,", reverts: "deletion", isOrphaning: true,
				do: deleteChild(index, metav1.DeletePropagationOrphan),
			})
	}
	return actions
}

func markChild(index int) actionFunc {
	return func(ctx context.Context, w *worker, o *object, random *rand.Rand) error {
		return w.markChild(ctx, o, index, value(random))
	}
}

// patchChild sends a patch as a user would.
func patchChild(
	index int, patch func(want manifest, digest string, random *rand.Rand) (types.PatchType, manifest),
) actionFunc {
	return func(ctx context.Context, w *worker, o *object, random *rand.Rand) error {
		child, want := o.child(index)
		kind, body := patch(want, o.kind.digest, random)
		return w.patch(ctx, typed(child), kind, body)
	}
}

// typed is for strategic merge patches, which a client sends of typed objects only.
func typed(r ref) client.Object {
	var obj client.Object = r.object()
	switch r.kind {
	case "Deployment":
		obj = &appsv1.Deployment{}
	case "StatefulSet":
		obj = &appsv1.StatefulSet{}
	}
	obj.SetNamespace(r.namespace)
	obj.SetName(r.name)
	return obj
}

func withoutOwner(manifest, string, *rand.Rand) (types.PatchType, manifest) {
	return types.MergePatchType, manifest{"metadata": manifest{"ownerReferences": nil}}
}

func withoutLabels(want manifest, _ string, _ *rand.Rand) (types.PatchType, manifest) {
	labels := manifest{}
	for key := range want["metadata"].(manifest)["labels"].(manifest) {
		labels[key] = nil
	}
	return types.MergePatchType, manifest{"metadata": manifest{"labels": labels}}
}

func withoutDigest(_ manifest, digest string, _ *rand.Rand) (types.PatchType, manifest) {
	none := manifest{digest: nil}
	return types.MergePatchType, manifest{"metadata": manifest{"labels": none, "annotations": none}}
}

func otherData(want manifest, _ string, random *rand.Rand) (types.PatchType, manifest) {
	data := manifest{}
	for key := range want["data"].(manifest) {
		data[key] = pick[any](random, nil, "aGVsbG8=")
	}
	return types.MergePatchType, manifest{"data": data}
}

func otherSelector(manifest, string, *rand.Rand) (types.PatchType, manifest) {
	return types.MergePatchType, manifest{"spec": manifest{"selector": manifest{"example.org/other": "yes"}}}
}

func otherImage(want manifest, _ string, random *rand.Rand) (types.PatchType, manifest) {
	image := fmt.Sprintf("example.org/other:%d", random.IntN(10))
	return types.StrategicMergePatchType, manifest{"spec": manifest{"template": manifest{"spec": manifest{
		"containers": []any{manifest{"name": containerOf(want), "image": image}},
	}}}}
}

// editPort replaces all ports by another, somebody's own as well.
func editPort(index int) actionFunc {
	return func(ctx context.Context, w *worker, o *object, random *rand.Rand) error {
		child, want := o.child(index)
		w.env.marks.erase(child, "spec", "ports")
		port := manifest{"port": 10000 + random.IntN(1000)}
		if name := portOf(want)["name"]; name != nil {
			port["name"] = name
		}
		return w.patch(ctx, child.object(), types.MergePatchType, manifest{"spec": manifest{"ports": []any{port}}})
	}
}

// replaceChild runs kubectl replace with a manifest without labels, annotations and owners, which
// also removes the managed fields.
func replaceChild(index int) actionFunc {
	return func(ctx context.Context, w *worker, o *object, _ *rand.Rand) error {
		child, _ := o.child(index)
		w.env.marks.erase(child, "metadata")
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			obj := child.object()
			if err := w.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
			obj.SetLabels(nil)
			obj.SetAnnotations(nil)
			obj.SetOwnerReferences(nil)
			obj.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) // a list of one empty entry takes all away
			return w.client.Update(ctx, obj)
		})
	}
}

func scale(index int) actionFunc {
	return func(ctx context.Context, w *worker, o *object, random *rand.Rand) error {
		child, _ := o.child(index)
		body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: random.Int32N(6)}}
		return w.client.SubResource("scale").Update(ctx, typed(child), client.WithSubResourceBody(body))
	}
}

// deletePod deletes one of the pods, whoever its owner is.
func deletePod(index int) actionFunc {
	return func(ctx context.Context, w *worker, o *object, random *rand.Rand) error {
		_, want := o.child(index)
		selector := want["spec"].(manifest)["selector"].(manifest)["matchLabels"].(manifest)
		labels := client.MatchingLabels{}
		for key, value := range selector {
			labels[key] = value.(string)
		}
		var pods corev1.PodList
		if err := w.client.List(ctx, &pods, client.InNamespace(o.key.Namespace), labels); err != nil {
			return err
		}
		if len(pods.Items) == 0 {
			return errTooLate
		}
		return w.client.Delete(ctx, &pods.Items[random.IntN(len(pods.Items))], client.GracePeriodSeconds(0))
	}
}

func deleteChild(index int, how metav1.DeletionPropagation) actionFunc {
	return func(ctx context.Context, w *worker, o *object, _ *rand.Rand) error {
		child, _ := o.child(index)
		return w.client.Delete(ctx, child.object(), client.PropagationPolicy(how))
	}
}

// deleteGuarded deletes a child that a foreign finalizer holds for a while.
func deleteGuarded(index int) actionFunc {
	return func(ctx context.Context, w *worker, o *object, _ *rand.Rand) error {
		child, _ := o.child(index)
		obj := child.object()
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if obj.GetDeletionTimestamp() != nil {
			return errTooLate
		}
		guarded := obj.DeepCopy()
		controllerutil.AddFinalizer(guarded, guard)
		if err := w.client.Patch(ctx, guarded, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
		uid := guarded.GetUID()
		w.later(ctx, held, func() error { return w.unguard(ctx, child, uid) })
		return w.client.Delete(ctx, guarded, client.Preconditions{UID: &uid})
	}
}

// unguard takes the guard off the object with that UID.
func (w *worker) unguard(ctx context.Context, of ref, uid types.UID) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		obj := of.object()
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil || obj.GetUID() != uid {
			return err
		}
		guarded := obj.DeepCopy()
		controllerutil.RemoveFinalizer(obj, guard)
		return w.client.Patch(ctx, obj, client.MergeFromWithOptions(guarded, client.MergeFromWithOptimisticLock{}))
	})
	return client.IgnoreNotFound(err)
}
