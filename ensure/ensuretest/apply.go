package ensuretest

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// applyBody applies a body, as it was sent, to the object with the kind and name of like.
func (s *store) applyBody(config *unstructured.Unstructured, like client.Object, options metav1.PatchOptions) error {
	gvk, err := apiutil.GVKForObject(like, s.scheme)
	if err != nil {
		return err
	}
	if err := refuseOtherObject(gvk, config, like); err != nil {
		return err
	}
	if s.withStatus[gvk] != nil {
		delete(config.Object, "status")
	}
	isNamed := config.GetName() != ""
	config.SetNamespace(like.GetNamespace())
	config.SetName(like.GetName())
	live, gvr, err := s.live(like)
	switch {
	case apierrors.IsNotFound(err) && !isNamed: // else the name belongs to an existing object
		return apierrors.NewBadRequest("the name of the object (" + config.GetName() +
			" based on URL) was undeterminable: name must be provided")
	case apierrors.IsNotFound(err) && config.GetUID() != "":
		return apierrors.NewConflict(gvr.GroupResource(), config.GetName(), errors.New("uid mismatch: there is no such object"))
	case apierrors.IsNotFound(err):
		return s.Apply(gvr, config, config.GetNamespace(), options)
	case err != nil:
		return err
	}
	accessor, err := meta.Accessor(live)
	if err != nil {
		return err
	}
	if version := config.GetResourceVersion(); version != "" && version != accessor.GetResourceVersion() {
		return apierrors.NewConflict(gvr.GroupResource(), config.GetName(), errors.New("the object has been modified"))
	}
	return s.Apply(gvr, config, config.GetNamespace(), options)
}

// Apply merges config into an object, or creates the object. An apply of a subresource creates none.
func (s *store) Apply(gvr schema.GroupVersionResource, config runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	gvk, accessor, err := s.identify(config)
	if err != nil {
		return err
	}
	live, err := s.Get(gvr, ns, accessor.GetName())
	if apierrors.IsNotFound(err) && s.subresource == "" {
		return s.applyNew(gvr, gvk, config, ns, opts...)
	} else if err != nil {
		return err
	}
	if err := refuseOtherUID(gvk, accessor, live); err != nil {
		return err
	}
	obj, err := s.merge(gvk, live, config, opts...)
	if err != nil {
		return err
	}
	return s.replace(gvr, gvk, live, obj, ns)
}

func (s *store) applyNew(
	gvr schema.GroupVersionResource, gvk schema.GroupVersionKind, config runtime.Object, ns string, opts ...metav1.PatchOptions,
) error {
	none, err := s.scheme.New(gvk)
	if err != nil {
		return err
	}
	none.GetObjectKind().SetGroupVersionKind(gvk)
	obj, err := s.merge(gvk, none, config, opts...)
	if err != nil {
		return err
	}
	return s.insert(gvr, gvk, obj, ns)
}

func (s *store) merge(gvk schema.GroupVersionKind, live, config runtime.Object, opts ...metav1.PatchOptions) (runtime.Object, error) {
	managing, err := s.manager(gvk)
	if err != nil {
		return nil, err
	}
	force := len(opts) > 0 && opts[0].Force != nil && *opts[0].Force
	obj, err := managing.Apply(live, config, managerOf(opts, func(o metav1.PatchOptions) string { return o.FieldManager }), force)
	if err != nil {
		return nil, asAnswer(err)
	}
	storeSecret(obj)
	return obj, nil
}
