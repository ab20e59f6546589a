package conformance_test

import (
	"context"
	"errors"
	"fmt"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errNotRefused = errors.New("what should be refused was not")

// onGadget returns a requestCase with a custom object that is there.
func onGadget(name string, do func(ctx context.Context, c client.Client, live *Gadget) (shown string, err error)) requestCase {
	return requestCase{name: name, do: func(ctx context.Context, c client.Client, namespace string) (string, error) {
		live := &Gadget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g"}}
		if err := c.Create(ctx, live, client.FieldOwner("creator")); err != nil {
			return "", err
		}
		return do(ctx, c, live)
	}}
}

// mismatchedRequests are requests that do not fit the kind or the object that they are for.
func mismatchedRequests() []requestCase {
	misfit := func(name, body string) requestCase {
		return onColor("apply of "+name, func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return applies(ctx, c, live, body)
		})
	}
	strategic := func(body string) client.Patch { return client.RawPatch(types.StrategicMergePatchType, []byte(body)) }
	return []requestCase{
		misfit("another name", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}`),
		misfit("no name in the body", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}`),
		misfit("another namespace", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"config","namespace":"other"}}`),
		misfit("another kind", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"config"}}`),
		misfit("another version", `{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"config"}}`),
		misfit("no kind", `{"metadata":{"name":"config"}}`),
		misfit("null", `null`),
		{"apply of another kind than what is not there", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", applies(ctx, c, color(ns, ""), `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"config"}}`)
		}},
		{"apply of no name in the body, to what is not there", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", applies(ctx, c, color(ns, ""), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}`)
		}},
		{"apply of another name than what is not there", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", applies(ctx, c, color(ns, ""), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}`)
		}},
		onGadget("strategic merge patch of a custom kind", func(ctx context.Context, c client.Client, live *Gadget) (string, error) {
			return "", c.Patch(ctx, live, strategic(`{"spec":{"size":4}}`))
		}),
		onGadget("strategic merge patch of a custom kind's status", func(ctx context.Context, c client.Client, live *Gadget) (string, error) {
			return "", c.Status().Patch(ctx, live, strategic(`{"status":{"phase":"tried"}}`))
		}),
		onGadget("update of a custom kind without a resourceVersion", func(ctx context.Context, c client.Client, live *Gadget) (string, error) {
			live.ResourceVersion = ""
			return "", c.Update(ctx, live)
		}),
		onGadget("status update of a custom kind without a resourceVersion", func(ctx context.Context, c client.Client, live *Gadget) (string, error) {
			live.ResourceVersion = ""
			return "", c.Status().Update(ctx, live)
		}),
		onColor("deletion of all without a namespace", func(ctx context.Context, c client.Client, _ *corev1.ConfigMap) error {
			return c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.MatchingLabels{"no": "such"})
		}),
	}
}

// partialRequests are requests for missing or only partly known objects.
func partialRequests() []requestCase {
	metadataOf := func(namespace string) *metav1.PartialObjectMetadata {
		p := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "config"}}
		p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		return p
	}
	return []requestCase{
		{"status apply of what is not there", func(ctx context.Context, c client.Client, ns string) (string, error) {
			config := appsv1apply.Deployment("small", ns).WithStatus(appsv1apply.DeploymentStatus().WithReplicas(2))
			return "", c.Status().Apply(ctx, config, client.FieldOwner("applier"))
		}},
		{"apply without a name", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", applies(ctx, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns}}, redBody(""))
		}},
		{"apply configuration without a name", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", c.Apply(ctx, corev1apply.ConfigMap("", ns), client.FieldOwner("applier"))
		}},
		{"create of metadata alone", func(ctx context.Context, c client.Client, ns string) (string, error) {
			return "", c.Create(ctx, metadataOf(ns))
		}},
		onColor("update of metadata alone", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			return c.Update(ctx, metadataOf(live.Namespace))
		}),
		{"patch of metadata alone", func(ctx context.Context, c client.Client, ns string) (string, error) {
			live, p := color(ns, "blue"), metadataOf(ns)
			if err := c.Create(ctx, live); err != nil {
				return "", err
			}
			patch := []byte(`{"metadata":{"labels":{"a":"b"}},"data":{"color":"red"}}`)
			err := c.Patch(ctx, p, client.RawPatch(types.MergePatchType, patch))
			err = errors.Join(err, c.Get(ctx, client.ObjectKeyFromObject(live), live))
			return fmt.Sprint(p.Labels, live.Data), err
		}},
		{"apply of metadata alone", func(ctx context.Context, c client.Client, ns string) (string, error) {
			p := metadataOf(ns)
			err := applies(ctx, c, p, redBody(`,"labels":{"a":"b"}`))
			return p.Kind + fmt.Sprint(p.Labels), err
		}},
		onColor("delete of metadata alone", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			if err := c.Delete(ctx, metadataOf(live.Namespace)); err != nil {
				return err
			}
			return c.Get(ctx, client.ObjectKeyFromObject(live), live)
		}),
		onGadget("a null status", func(ctx context.Context, c client.Client, live *Gadget) (string, error) {
			body := `{"apiVersion":"` + gadgetGVK.GroupVersion().String() + `","kind":"Gadget","metadata":{"name":"g"},"status":null}`
			made, none := merge(`{"status":{"phase":"made"}}`), merge(`{"status":null}`)
			if err := errors.Join(c.Status().Patch(ctx, live, made), applies(ctx, c, live, body), c.Patch(ctx, live, none)); err != nil {
				return "", err
			}
			kept := live.Status.Phase
			err := c.Status().Patch(ctx, live, none)
			return "kept '" + kept + "', then '" + live.Status.Phase + "'", err
		}),
	}
}

func merge(body string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(body)) }

// callerRequests show how requests change the objects that a caller passes.
func callerRequests() []requestCase {
	return []requestCase{
		onColor("update of what could not be created", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			obj := color(live.Namespace, "red")
			if c.Create(ctx, obj) == nil {
				return errNotRefused
			}
			if diff := gocmp.Diff(color(live.Namespace, "red"), obj); diff != "" {
				return errors.New("the refusal changed the object: " + diff)
			}
			return c.Update(ctx, obj)
		}),
		onGoing("update after one that was refused", func(ctx context.Context, c client.Client, live *corev1.ConfigMap) error {
			live.Finalizers = append(live.Finalizers, "example.com/new")
			if c.Update(ctx, live) == nil {
				return errNotRefused
			}
			live.Finalizers = live.Finalizers[:1]
			live.Labels = map[string]string{"a": "b"}
			return c.Update(ctx, live)
		}),
		{"scale of what is only named", func(ctx context.Context, c client.Client, ns string) (string, error) {
			obj := small(ns)
			if err := c.Create(ctx, obj); err != nil {
				return "", err
			}
			named := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: obj.Name}}
			scale := &autoscalingv1.Scale{ObjectMeta: named.ObjectMeta, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
			if err := c.SubResource("scale").Update(ctx, named, client.WithSubResourceBody(scale)); err != nil {
				return "", err
			}
			err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			return fmt.Sprintf("%d replicas, %d containers", *obj.Spec.Replicas, len(obj.Spec.Template.Spec.Containers)), err
		}},
	}
}
