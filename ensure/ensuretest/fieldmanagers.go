package ensuretest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// unnamed is the field manager of who gives no name. A server takes the user agent's.
const unnamed = "ensuretest"

type managerKey struct {
	gvk         schema.GroupVersionKind
	subresource string
}

func managerOf[O any](opts []O, name func(O) string) string {
	if len(opts) > 0 && name(opts[0]) != "" {
		return name(opts[0])
	}
	return unnamed
}

// own records in a new object which fields manager specifies.
func (s *store) own(gvk schema.GroupVersionKind, obj runtime.Object, manager string) (runtime.Object, error) {
	storeSecret(obj)
	accessor, err := meta.Accessor(obj)
	if err != nil || len(accessor.GetManagedFields()) > 0 {
		return obj, err
	}
	none, err := s.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	none.GetObjectKind().SetGroupVersionKind(gvk)
	managing, err := s.manager(gvk)
	if err != nil {
		return nil, err
	}
	return managing.Update(none, obj, manager)
}

func (s *store) manager(gvk schema.GroupVersionKind) (*managedfields.FieldManager, error) {
	key := managerKey{gvk: gvk, subresource: s.subresource}
	if known, ok := s.managers[key]; ok {
		return known, nil
	}
	made, err := managedfields.NewDefaultFieldManager(
		s.fields, s.scheme, noDefaults{}, s.scheme, gvk, gvk.GroupVersion(), s.subresource, nil)
	if err != nil {
		return nil, fmt.Errorf("no field manager for %s: %w", gvk.Kind, err)
	}
	s.managers[key] = made
	return made, nil
}

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}
