// Package contest has the children that all contestants write, and the ways in which contestants write one.
package contest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Child is a child of an owner, as all contestants write it.
type Child struct {
	Kind  schema.GroupVersionKind
	Empty func() client.Object
	// Desired returns the fields that the operator decides. One of them depends on the revision.
	Desired func(owner client.Object, revision int) client.Object

	// assignContent sets these fields in live, as operators do: single fields of the spec, or the whole spec.
	assignContent func(live, desired client.Object)
	// addDefaults sets in desired the defaults that the API server sets.
	addDefaults func(desired client.Object)
}

// Children returns the children of each owner. Built-in controllers only write the status of the Deployment,
// since it is paused.
func Children() []Child { return []Child{ConfigMap(), Service(), Deployment(), Database()} }

// Assign sets the desired fields in live.
func (c Child) Assign(live, desired client.Object) {
	live.SetLabels(desired.GetLabels())
	c.assignContent(live, desired)
}

// AssignWithDefaults sets the desired fields in live, and those for which the API server has a default.
func (c Child) AssignWithDefaults(live, desired client.Object) {
	c.addDefaults(desired)
	c.Assign(live, desired)
}

// InstanceLabel is a label of each child. Its value is the name of the owner.
const InstanceLabel = "app.kubernetes.io/instance"

// metadata returns the metadata of the children of an owner.
func metadata(owner client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: owner.GetNamespace(), Name: owner.GetName() + "-web",
		Labels: map[string]string{"app.kubernetes.io/name": "shop", InstanceLabel: owner.GetName()},
	}
}
