package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/bench/internal/contest"
)

// A child is a child of each owner, and the changes that others make to it.
type child struct {
	contest.Child

	emptyList func() client.ObjectList

	// The changes are strategic merge patches, or merge patches of a custom kind.
	heartbeat string // of the status, with a %d; empty for a kind without a status
	drift     string // of a field that the operator decides
	addition  string // of a field or list item that the operator does not decide

	hasDrift, hasAddition func(live client.Object) bool
}

func children() []child { return []child{configMap(), service(), deployment(), database()} }

// list lists the children of a kind in a namespace.
func (c child) list(ctx context.Context, reader client.Reader, namespace string) ([]client.Object, error) {
	list := c.emptyList()
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.HasLabels{contest.InstanceLabel}); err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", c.Kind.Kind, err)
	}
	var items []client.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(client.Object); ok {
			items = append(items, object)
		}
		return nil
	})
	return items, err
}

func configMap() child {
	data := func(object client.Object) map[string]string { return object.(*corev1.ConfigMap).Data }
	return child{
		Child:       contest.ConfigMap(),
		emptyList:   func() client.ObjectList { return &corev1.ConfigMapList{} },
		drift:       `{"data":{"log-level":"debug"}}`,
		addition:    `{"data":{"ca.crt":"of somebody else"}}`,
		hasDrift:    func(live client.Object) bool { return data(live)["log-level"] != "info" },
		hasAddition: func(live client.Object) bool { return data(live)["ca.crt"] != "" },
	}
}

func service() child {
	spec := func(object client.Object) *corev1.ServiceSpec { return &object.(*corev1.Service).Spec }
	return child{
		Child:     contest.Service(),
		emptyList: func() client.ObjectList { return &corev1.ServiceList{} },
		heartbeat: `{"status":{"conditions":[{"type":"Checked","status":"True","reason":"Checked","message":"%d",` +
			`"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
		drift:       `{"spec":{"selector":{"` + contest.InstanceLabel + `":"another"}}}`,
		addition:    `{"spec":{"ports":[{"name":"debug","port":6060}]}}`,
		hasDrift:    func(live client.Object) bool { return spec(live).Selector[contest.InstanceLabel] == "another" },
		hasAddition: func(live client.Object) bool { return len(spec(live).Ports) == 3 },
	}
}

func deployment() child {
	containers := func(object client.Object) []corev1.Container {
		return object.(*appsv1.Deployment).Spec.Template.Spec.Containers
	}
	return child{
		Child:       contest.Deployment(),
		emptyList:   func() client.ObjectList { return &appsv1.DeploymentList{} },
		heartbeat:   `{"status":{"conditions":[{"type":"Checked","status":"True","reason":"Checked","message":"%d"}]}}`,
		drift:       `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"ghcr.io/example/web:edited"}]}}}}`,
		addition:    `{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"ghcr.io/example/sidecar:1"}]}}}}`,
		hasDrift:    func(live client.Object) bool { return containers(live)[0].Image == "ghcr.io/example/web:edited" },
		hasAddition: func(live client.Object) bool { return len(containers(live)) == 2 },
	}
}

func database() child {
	spec := func(object client.Object) map[string]any {
		content, _ := object.(*unstructured.Unstructured).Object["spec"].(map[string]any)
		return content
	}
	return child{
		Child: contest.Database(),
		emptyList: func() client.ObjectList {
			empty := &unstructured.UnstructuredList{}
			empty.SetGroupVersionKind(contest.DatabaseKind.GroupVersion().WithKind("DatabaseList"))
			return empty
		},
		heartbeat: `{"status":{"checked":%d}}`,
		drift:     `{"spec":{"version":"edited"}}`,
		addition:  `{"spec":{"backup":"daily"}}`,
		hasDrift:  func(live client.Object) bool { return spec(live)["version"] == "edited" },
		hasAddition: func(live client.Object) bool {
			_, found := spec(live)["backup"]
			return found
		},
	}
}
