package trial

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// held is how long a foreign finalizer delays a deletion.
const held = time.Second

// A childFunc changes one child.
type childFunc func(ctx context.Context, u *user, name owners.Ref, child owners.Child, random *rand.Rand) error

// childActions returns the actions on the child of this index.
func childActions(o *object, index int, child owners.Child) []action {
	kind := child.Kind()
	on := func(name string, do childFunc, reverts ...string) action {
		for i := range reverts {
			reverts[i] += " " + kind + " " + owners.Text(child.Want, "metadata", "name")
		}
		return action{name: name + " the " + kind + " of", reverts: reverts, do: onChild(index, do)}
	}
	actions := []action{
		{name: "mark the " + kind + " of", do: func(ctx context.Context, u *user, o *object, random *rand.Rand) error {
			return u.markChild(ctx, o, index, random)
		}},
		on("take the labels from", takeLabels, "metadata"),
		on("replace", replaceChild, "metadata"),
		on("delete", deleteChild(metav1.DeletePropagationBackground), "deletion"),
		on("delete, guarded,", deleteGuarded, "deletion"),
	}
	if o.keepsOwners {
		actions = append(actions, on("take the managed fields from", takeManagedFields, "metadata"))
	} else {
		actions = append(actions, on("take the owner from", takeOwner, "metadata"))
	}
	switch kind {
	case "ReverseWordsApp":
		actions = append(actions, on("scale", patchChild(types.MergePatchType, otherReplicas), "replicas"))
	case "ConfigMap", "Secret":
		edit := patchChild(types.MergePatchType, otherData)
		actions = append(actions,
			on("edit the data of", edit, "data"),
			on("put something else in the place of", replaceDuringRevert(edit), "data", "deletion"))
	case "Service":
		edit := patchChild(types.MergePatchType, otherSelector)
		actions = append(actions,
			on("edit the port of", editPort, "port"),
			on("add to the selector of", edit, "selector"),
			on("put something else in the place of", replaceDuringRevert(edit), "selector", "deletion"))
	case "Deployment", "StatefulSet":
		actions = append(actions,
			on("scale", scale, "replicas"),
			on("edit the image of", patchChild(types.StrategicMergePatchType, otherImage), "image"),
			on("delete a pod of", deletePod),
			on("delete, pods first,", deleteChild(metav1.DeletePropagationForeground), "deletion"))
		if !o.keepsOwners {
			actions = append(actions, on("delete, and not the pods,", deleteChild(metav1.DeletePropagationOrphan), "deletion"))
		}
	}
	return actions
}

func onChild(index int, do childFunc) actionFunc {
	return func(ctx context.Context, u *user, o *object, random *rand.Rand) error {
		name, child, ok := o.child(index)
		if !ok {
			return errTooLate
		}
		return do(ctx, u, name, child, random)
	}
}

// patchChild sends a patch with a body.
func patchChild(how types.PatchType, body func(want owners.Manifest, random *rand.Rand) owners.Manifest) childFunc {
	return func(ctx context.Context, u *user, name owners.Ref, child owners.Child, random *rand.Rand) error {
		return u.patch(ctx, name, how, body(child.Want, random))
	}
}

func takeOwner(ctx context.Context, u *user, name owners.Ref, _ owners.Child, _ *rand.Rand) error {
	return u.patch(ctx, name, types.MergePatchType, owners.Manifest{"metadata": owners.Manifest{"ownerReferences": nil}})
}

func takeManagedFields(ctx context.Context, u *user, name owners.Ref, _ owners.Child, _ *rand.Rand) error {
	none := owners.Manifest{"metadata": owners.Manifest{"managedFields": []any{owners.Manifest{}}}}
	return u.patch(ctx, name, types.MergePatchType, none)
}

func takeLabels(ctx context.Context, u *user, name owners.Ref, child owners.Child, _ *rand.Rand) error {
	labels := owners.Manifest{}
	for key := range child.Want["metadata"].(owners.Manifest)["labels"].(owners.Manifest) {
		labels[key] = nil
	}
	if !child.KeepsDigest {
		labels[child.Digest] = nil
	}
	return u.patch(ctx, name, types.MergePatchType, owners.Manifest{"metadata": owners.Manifest{"labels": labels}})
}

// replaceChild sends an update with a manifest that has no labels and, if nothing depends on the digest, no annotations.
func replaceChild(ctx context.Context, u *user, name owners.Ref, child owners.Child, _ *rand.Rand) error {
	u.journal.erase(name, "metadata", "labels")
	if !child.KeepsDigest {
		u.journal.erase(name, "metadata", "annotations")
	}
	return persist(ctx, func(ctx context.Context) error {
		live := name.Object()
		if err := u.client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		live.SetLabels(nil)
		if !child.KeepsDigest {
			live.SetAnnotations(nil)
		}
		return u.client.Update(ctx, live)
	})
}

func otherReplicas(_ owners.Manifest, random *rand.Rand) owners.Manifest {
	return owners.Manifest{"spec": owners.Manifest{"replicas": random.IntN(6)}}
}

func otherData(want owners.Manifest, random *rand.Rand) owners.Manifest {
	data := owners.Manifest{}
	for key := range want["data"].(owners.Manifest) {
		data[key] = pick[any](random, nil, "aGVsbG8=")
	}
	return owners.Manifest{"data": data}
}

func otherSelector(owners.Manifest, *rand.Rand) owners.Manifest {
	return owners.Manifest{"spec": owners.Manifest{"selector": owners.Manifest{"example.org/other": "yes"}}}
}

func otherImage(want owners.Manifest, random *rand.Rand) owners.Manifest {
	image := fmt.Sprintf("example.org/other:%d", random.IntN(10))
	return owners.Manifest{"spec": owners.Manifest{"template": owners.Manifest{"spec": owners.Manifest{
		"containers": []any{owners.Manifest{"name": containerOf(want), "image": image}},
	}}}}
}

// editPort changes the number of the operator's port beside a port of the user. As ports are merged by their numbers, the
// API server then refuses an apply: two ports have one name. What resolves this has to leave the user's port alone.
func editPort(ctx context.Context, u *user, name owners.Ref, child owners.Child, random *rand.Rand) error {
	if err := u.add(ctx, name, markFor(child.Want, name.Kind, value(random)), types.StrategicMergePatchType); err != nil {
		return err
	}
	live, err := u.read(ctx, name)
	if err != nil {
		return err
	}
	ports, _, _ := unstructured.NestedSlice(live.(*unstructured.Unstructured).Object, "spec", "ports")
	want := portOf(child.Want)["port"]
	for i, port := range ports {
		if number := port.(owners.Manifest)["port"]; number == want {
			path := fmt.Sprintf("/spec/ports/%d/port", i)
			return u.patch(ctx, name, types.JSONPatchType, []owners.Manifest{
				{"op": "test", "path": path, "value": number}, {"op": "replace", "path": path, "value": 10000 + random.IntN(1000)},
			})
		}
	}
	return errTooLate
}

func scale(ctx context.Context, u *user, name owners.Ref, _ owners.Child, random *rand.Rand) error {
	body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: random.Int32N(6)}}
	return persist(ctx, func(ctx context.Context) error {
		return u.client.SubResource("scale").Update(ctx, name.Object(), client.WithSubResourceBody(body.DeepCopy()))
	})
}

// deletePod deletes one of the pods.
func deletePod(ctx context.Context, u *user, name owners.Ref, child owners.Child, random *rand.Rand) error {
	labels := client.MatchingLabels{}
	selector, _, _ := unstructured.NestedStringMap(child.Want, "spec", "selector", "matchLabels")
	maps.Copy(labels, selector)
	var pods corev1.PodList
	err := persist(ctx, func(ctx context.Context) error {
		return u.client.List(ctx, &pods, client.InNamespace(name.Namespace), labels)
	})
	if err != nil {
		return err
	}
	if len(pods.Items) == 0 {
		return errTooLate
	}
	pod := &pods.Items[random.IntN(len(pods.Items))]
	return persist(ctx, func(ctx context.Context) error { return u.client.Delete(ctx, pod, client.GracePeriodSeconds(0)) })
}

func deleteChild(how metav1.DeletionPropagation) childFunc {
	return func(ctx context.Context, u *user, name owners.Ref, _ owners.Child, _ *rand.Rand) error {
		u.journal.allow(name, false)
		return persist(ctx, func(ctx context.Context) error {
			return u.client.Delete(ctx, name.Object(), client.PropagationPolicy(how))
		})
	}
}

// deleteGuarded deletes a child that a foreign finalizer holds for a while.
func deleteGuarded(ctx context.Context, u *user, name owners.Ref, _ owners.Child, _ *rand.Rand) error {
	uid, err := u.guard(ctx, name)
	if err != nil {
		return err
	}
	u.journal.allow(name, false)
	u.later(ctx, held, func() error { return u.unguard(ctx, name, uid) })
	return persist(ctx, func(ctx context.Context) error {
		return u.client.Delete(ctx, name.Object(), client.Preconditions{UID: &uid})
	})
}
