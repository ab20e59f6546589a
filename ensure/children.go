package ensure

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Children returns the objects that owner controls, whatever their names are: in the order of lists,
// which name the kinds, and sorted by name. A reconcile can report them in a status, or delete them by
// Absent when a finalizer has to wait until they are gone:
//
//	children, err := ensure.Children(ctx, reader, site, &appsv1.DeploymentList{}, &corev1.ServiceList{})
//
// Children lists each kind in the owner's namespace, or in all namespaces for an owner without one.
// With a reader that has a cache, Children does not wait until the cache shows earlier writes. If
// nothing must be missing, call Children again with a reader that reads from the API server, as a
// manager's GetAPIReader does. The result has copies, and what lists contain afterwards must not be
// changed.
func Children(ctx context.Context, reader client.Reader, owner client.Object, lists ...client.ObjectList) ([]client.Object, error) {
	var children []client.Object
	opts := []client.ListOption{
		client.InNamespace(owner.GetNamespace()), client.DisableReadYourWritesConsistency, client.UnsafeDisableDeepCopy,
	}
	for _, list := range lists {
		var found []client.Object
		err := reader.List(ctx, list, opts...)
		if err == nil {
			err = meta.EachListItem(list, func(item runtime.Object) error {
				if child, ok := item.(client.Object); ok && metav1.IsControlledBy(child, owner) {
					found = append(found, child.DeepCopyObject().(client.Object))
				}
				return nil
			})
		}
		if err != nil {
			return nil, fmt.Errorf("cannot list the children of %q: %w", client.ObjectKeyFromObject(owner), err)
		}
		slices.SortFunc(found, func(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
		children = append(children, found...)
	}
	return children, nil
}
