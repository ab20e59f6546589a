package ensuretest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// unnamed is the field manager of who gives no name. A server takes the user agent's.
const unnamed = "ensuretest"

// A store keeps the objects of the fake client. What a server does below its subresources
// and options is here: UIDs, generations, resourceVersions, field managers. Writes come one
// after another.
type store struct {
	clienttesting.ObjectTracker

	scheme     *runtime.Scheme
	fields     managedfields.TypeConverter
	managers   map[managerKey]*managedfields.FieldManager
	withStatus map[schema.GroupVersionKind]client.Object
	clock      clock.PassiveClock

	issued uint64
	// subresource is that of the write in hand, which a tracker is not told.
	subresource string
}

type managerKey struct {
	gvk         schema.GroupVersionKind
	subresource string
}

func newStore(scheme *runtime.Scheme, now clock.PassiveClock) *store {
	return &store{
		ObjectTracker: clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder()),
		scheme:        scheme,
		fields:        newTypeConverter(),
		managers:      map[managerKey]*managedfields.FieldManager{},
		withStatus:    withStatus(scheme),
		clock:         now,
	}
}

// Add takes an object as it is, status included, and gives it what it lacks.
func (s *store) Add(obj runtime.Object) error {
	gvk, accessor, err := s.identify(obj)
	if err != nil {
		return err
	}
	uid, created, generation := accessor.GetUID(), accessor.GetCreationTimestamp(), accessor.GetGeneration()
	if obj, err = s.own(gvk, obj, unnamed); err != nil {
		return err
	}
	accessor, err = meta.Accessor(obj)
	if err != nil {
		return err
	}
	s.bear(gvk, accessor)
	forgetEmpty(gvk, obj)
	if uid != "" {
		accessor.SetUID(uid)
	}
	if !created.IsZero() {
		accessor.SetCreationTimestamp(created)
	}
	if generation != 0 {
		accessor.SetGeneration(generation)
	}
	return s.ObjectTracker.Add(obj)
}

// Create makes an object. What it says about itself, the server knows better.
func (s *store) Create(gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.CreateOptions) error {
	gvk, _, err := s.identify(obj)
	if err != nil {
		return err
	}
	if err := s.dropStatus(gvk, obj); err != nil {
		return err
	}
	if obj, err = s.own(gvk, obj, managerOf(opts, func(o metav1.CreateOptions) string { return o.FieldManager })); err != nil {
		return err
	}
	return s.insert(gvr, gvk, obj, ns)
}

// Update replaces an object.
func (s *store) Update(gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.UpdateOptions) error {
	return s.update(gvr, obj, ns, managerOf(opts, func(o metav1.UpdateOptions) string { return o.FieldManager }))
}

// Patch replaces an object by what a patch made of it.
func (s *store) Patch(gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	return s.update(gvr, obj, ns, managerOf(opts, func(o metav1.PatchOptions) string { return o.FieldManager }))
}

func managerOf[O any](opts []O, name func(O) string) string {
	if len(opts) > 0 && name(opts[0]) != "" {
		return name(opts[0])
	}
	return unnamed
}

func (s *store) update(gvr schema.GroupVersionResource, obj runtime.Object, ns, manager string) error {
	gvk, accessor, err := s.identify(obj)
	if err != nil {
		return err
	}
	live, err := s.Get(gvr, ns, accessor.GetName())
	if err != nil {
		return err
	}
	storeSecret(obj)
	managing, err := s.manager(gvk)
	if err != nil {
		return err
	}
	if obj, err = managing.Update(live, obj, manager); err != nil {
		return err
	}
	return s.replace(gvr, gvk, live, obj, ns)
}

// applyBody applies a body as it was sent, to the object that like names.
func (s *store) applyBody(config *unstructured.Unstructured, like client.Object, options metav1.PatchOptions) error {
	gvk, err := apiutil.GVKForObject(like, s.scheme)
	if err != nil {
		return err
	}
	if s.withStatus[gvk] != nil {
		delete(config.Object, "status")
	}
	config.SetNamespace(like.GetNamespace())
	config.SetName(like.GetName())
	live, gvr, err := s.live(like)
	switch {
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

// Apply merges config into an object, or makes it.
func (s *store) Apply(gvr schema.GroupVersionResource, config runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	gvk, accessor, err := s.identify(config)
	if err != nil {
		return err
	}
	live, err := s.Get(gvr, ns, accessor.GetName())
	if apierrors.IsNotFound(err) {
		return s.applyNew(gvr, gvk, config, ns, opts...)
	} else if err != nil {
		return err
	}
	if err := requireUID(gvk, accessor, live); err != nil {
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

// asAnswer is what a server makes of a body that does not fit the kind's schema.
func asAnswer(err error) error {
	if !strings.HasPrefix(err.Error(), "failed to create typed patch object") {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}

// requireUID refuses an apply that is for another object of that name.
func requireUID(gvk schema.GroupVersionKind, config metav1.Object, live runtime.Object) error {
	accessor, err := meta.Accessor(live)
	if err != nil || config.GetUID() == "" || config.GetUID() == accessor.GetUID() {
		return err
	}
	immutable := field.Invalid(field.NewPath("metadata", "uid"), string(config.GetUID()), "field is immutable")
	return apierrors.NewInvalid(gvk.GroupKind(), config.GetName(), field.ErrorList{immutable, immutable}) // a server says it twice
}

// identify says what obj is, and writes that into it.
func (s *store) identify(obj runtime.Object) (schema.GroupVersionKind, metav1.Object, error) {
	gvk, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		return gvk, nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	accessor, err := meta.Accessor(obj)
	return gvk, accessor, err
}

// own notes, for an object that is new, who specifies what of it.
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

func (s *store) insert(gvr schema.GroupVersionResource, gvk schema.GroupVersionKind, obj runtime.Object, ns string) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	s.bear(gvk, accessor)
	forgetEmpty(gvk, obj)
	return s.ObjectTracker.Create(gvr, obj, ns)
}

// bear gives a new object what each has from its beginning.
func (s *store) bear(gvk schema.GroupVersionKind, accessor metav1.Object) {
	accessor.SetResourceVersion(s.next())
	accessor.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.issued)))
	accessor.SetCreationTimestamp(metav1.NewTime(s.clock.Now()).Rfc3339Copy())
	accessor.SetGeneration(firstGeneration(gvk.GroupKind()))
}

// replace stores obj in live's place, unless that would change nothing.
func (s *store) replace(gvr schema.GroupVersionResource, gvk schema.GroupVersionKind, live, obj runtime.Object, ns string) error {
	before, err := meta.Accessor(live)
	if err != nil {
		return err
	}
	after, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	after.SetUID(before.GetUID())
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	after.SetGeneration(before.GetGeneration())
	hasEmpty := seesEmpty.Has(gvk.GroupKind()) && !sameInMemory(live, obj)
	forgetEmpty(gvk, obj)
	moves, err := look(live, obj)
	if err != nil {
		return err
	}
	moves.any, moves.content = moves.any || hasEmpty, moves.content || hasEmpty
	if !moves.any {
		after.SetManagedFields(before.GetManagedFields())
		after.SetResourceVersion(before.GetResourceVersion())
		return nil
	}
	after.SetGeneration(nextGeneration(gvk.GroupKind(), before, after, moves.content))
	after.SetResourceVersion(s.next())
	if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
		return s.Delete(gvr, ns, after.GetName())
	}
	return s.ObjectTracker.Update(gvr, obj, ns)
}

func (s *store) next() string {
	s.issued++
	return strconv.FormatUint(s.issued, 10)
}

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}
