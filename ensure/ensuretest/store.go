package ensuretest

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A store holds the objects of the fake client. Below subresources and options, it does what a server
// does: UIDs, generations, resourceVersions, field managers. Writes are carried out one after another.
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

// Add stores an object with its status, and sets the metadata that it lacks.
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

// Create stores a new object. Metadata that the server sets is overwritten.
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

// Patch replaces an object by the result of a patch.
func (s *store) Patch(gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	return s.update(gvr, obj, ns, managerOf(opts, func(o metav1.PatchOptions) string { return o.FieldManager }))
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
	dropNoStatus(obj)
	managing, err := s.manager(gvk)
	if err != nil {
		return err
	}
	if obj, err = managing.Update(live, obj, manager); err != nil {
		return err
	}
	return s.replace(gvr, gvk, live, obj, ns)
}

// identify returns the kind of obj, after writing the kind into obj.
func (s *store) identify(obj runtime.Object) (schema.GroupVersionKind, metav1.Object, error) {
	gvk, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		return gvk, nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	accessor, err := meta.Accessor(obj)
	return gvk, accessor, err
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

// bear sets the metadata that each new object has.
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
	if err := refuseNewFinalizers(gvk, before, after); err != nil {
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
