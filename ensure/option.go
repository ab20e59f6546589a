package ensure

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
)

// An Option changes a call of Object. Every ChildOption is one.
type Option interface{ isForObject() }

// A SetOption changes a call of Set. Every ChildOption is one, and holds for each child.
type SetOption interface{ isForSet() }

// An AbsentOption changes a call of Absent.
type AbsentOption interface{ isForAbsent() }

// A ChildOption changes how Object or Set ensures a child. In a Set, it holds for each child, and inside
// OnlyFor for one.
type ChildOption func(*options)

func (ChildOption) isForObject() {}

func (ChildOption) isForSet() {}

// A setOption is for Set only.
type setOption func(*options)

func (setOption) isForSet() {}

// An absentOption is for Absent only.
type absentOption func(*options)

func (absentOption) isForAbsent() {}

type options struct {
	policy

	controlled bool
	owner      client.Object
	dryRun     bool

	migrateFrom []string
	release     []string
	once        []string
	retire      []string

	prune       []client.Object // one of each kind
	pruneReady  bool            // once all children are ready
	only        []narrowed
	continues   bool   // after an error
	wrongExtent string // given to Recreate
	isNil       bool   // one of the options
}

// A policy says which writes are allowed.
type policy struct {
	adopt         bool
	ifExists      bool
	ifMissing     bool
	recreate      metav1.DeletionPropagation // what becomes of dependents then; empty: never
	onDrift       bool                       // recreate also for drift
	deleteData    bool                       // recreate also a kind that holds more than the object
	overwriteData bool                       // of an existing Secret
	propagation   metav1.DeletionPropagation // of Absent, and of pruning
	deleteAdopted bool
}

// Allowed implements backoff.Options.
func (p *policy) Allowed() any { return *p }

// narrowed are options for one child of a Set.
type narrowed struct {
	child client.Object
	opts  []ChildOption
}

// resolve returns the options of a call. A method of each option would do what this switch does, but its receiver would escape, so
// that each pass at rest would allocate it.
func resolve[T any](opts []T) options {
	var o options
	for _, opt := range opts {
		switch opt := any(opt).(type) {
		case ChildOption:
			o.add(opt)
		case controlledBy:
			o.controlled, o.owner = true, opt.owner
		case dryRun:
			o.dryRun = true
		case setOption:
			opt(&o)
		case absentOption:
			opt(&o)
		case Pruning:
			o.addPruning(opt)
		default:
			o.isNil = true
		}
	}
	return o
}

func (o *options) add(opts ...ChildOption) {
	for _, set := range opts {
		if set == nil {
			o.isNil = true
			continue
		}
		set(o)
	}
}

// ControlledBy makes owner the controller of the child: the garbage collector deletes the child with
// the owner, events of the child trigger a reconcile of the owner through Owns, and the child is
// written only while the child has no other controller. The owner must have been read from the API
// server, and must not be in deletion. The child takes its namespace from a namespaced owner if desired
// has none; another namespace is refused.
//
// desired may have the owner reference already, as controllerutil.SetControllerReference sets it: the
// desired state is the same. A reference of desired to another controller is refused. Without
// ControlledBy, the reference in desired decides whose the child is, but desired needs its namespace, and
// the owner is neither checked nor read.
//
// The cache may show later than the child that the owner is gone: with it, the garbage collector deletes
// the child, or removes the reference from it (orphans). So before a child that was there is created
// again, and before an object without a controller gets the reference, the owner is read from the API
// server. If the owner was deleted or replaced, the error is ErrOwnerTerminating. If the read fails, as
// without the verb get for the owner's kind, the child is written.
//
// A later call without ControlledBy fails with ErrForeign, as the child still belongs to the owner.
// With Adopt such a call succeeds, and the child keeps its controller.
func ControlledBy(owner client.Object) interface {
	Option
	AbsentOption
} {
	return controlledBy{owner}
}

type controlledBy struct{ owner client.Object }

func (controlledBy) isForObject() {}

func (controlledBy) isForAbsent() {}

// Adopt lets Object adopt an existing object that is not ours, instead of failing with ErrForeign. With
// ControlledBy, Object adopts only an object without a controller, or an object that another program
// applied for the same owner. Without ControlledBy, our fields are applied to any object, and its owner
// references stay, including a controller that an earlier call with ControlledBy set.
//
// A prefix of the stored digest marks an adopted object. Absent and Prune give up our fields and do not
// delete the object, unless DeleteAdopted is given to them. Recreate does not replace the object. After a
// restart, an object whose digest was removed, and that is ours only by its managed fields, counts as
// adopted. With
// ControlledBy, the garbage collector still deletes the object with its owner. If somebody emptied the
// managed fields before the adoption, the writer of the reference to the owner is unknown, and Absent
// removes the reference with our fields.
func Adopt() ChildOption {
	return func(o *options) { o.adopt = true }
}

// IfExists updates the object if it exists, and never creates it. Use it for objects that somebody else
// creates, such as the claims of a StatefulSet, usually together with Adopt. If the object does not
// exist, Operation is Gone and Live is nil. Object trusts the cache for this. If the API server does
// not serve the kind, the object does not exist, as for Absent.
func IfExists() ChildOption {
	return func(o *options) { o.ifExists = true }
}

// IfMissing creates the object if it does not exist, and never writes to it afterwards. Use it for
// objects that users edit, such as an initial configuration. For an existing object, Operation is
// Unchanged, whatever the content and the creator. Exceptions are an object that another controller
// owns (ErrForeign) and an object that is being deleted (ErrTerminating). If somebody deletes the
// object, it is created again. For parts of an object, such as one generated key of a Secret, use Once.
func IfMissing() ChildOption {
	return func(o *options) { o.ifMissing = true }
}

// DryRun lets the API server compute the outcome and store nothing. The Result describes what a call
// without DryRun would do, and Live is the resulting object. For a recreation, only the deletion can be
// tried, and Live is the current object.
func DryRun() interface {
	Option
	SetOption
	AbsentOption
} {
	return dryRun{}
}

type dryRun struct{}

func (dryRun) isForObject() {}

func (dryRun) isForSet() {}

func (dryRun) isForAbsent() {}

// Propagation decides what happens to the dependents of an object that Absent deletes. Dependents are the
// objects with an owner reference to that object. The default is metav1.DeletePropagationBackground, which
// deletes the dependents after the object, also for Jobs, whose pods the API server would orphan by
// default. metav1.DeletePropagationForeground deletes the dependents first, and
// metav1.DeletePropagationOrphan keeps them. For pruned objects, see Pruning.Propagation.
func Propagation(policy metav1.DeletionPropagation) AbsentOption {
	return absentOption(func(o *options) { o.propagation = policy })
}

// DeleteAdopted makes Absent delete an adopted object, which somebody else created. Without
// DeleteAdopted, Absent only gives up our fields. For pruned objects, see Pruning.DeleteAdopted.
func DeleteAdopted() AbsentOption {
	return absentOption(func(o *options) { o.deleteAdopted = true })
}

// Recreate allows Object to delete the child and create it again, instead of failing with ErrImmutable.
// Object does so if desired has changed, the API server refuses the change for an existing object, and
// a dry run shows that the API server would create desired. Any other error prevents the recreation: an
// invalid value, a quota, a policy, a missing permission, or fields of others that conflict with
// desired. Adopted objects are never recreated. With Adopt or IfExists, no object is recreated.
//
// If somebody changed the child and the API server refuses to revert the change, the child stays, even
// if desired changes another field, unless extent has OnDrift. The managed fields show what others
// changed: a field that somebody removed counts as a change of desired. A child whose deletion destroys
// data that cannot be created again stays, unless extent has DeleteData. If Recreate is given twice, as in
// a Set and inside OnlyFor, the last one holds.
//
// dependents decides what happens to objects with an owner reference to the child.
// metav1.DeletePropagationBackground deletes them after the child. metav1.DeletePropagationOrphan keeps
// them for the new object: for example, a new StatefulSet adopts the pods that its selector matches.
// Use Background if the selector changes, and for a Job, whose selector is new each time: no object
// would adopt the orphaned pods, and they would run until somebody deletes them. With Orphan, calls
// return ErrTerminating until the old object has released its dependents, and then Recreated.
//
// A Service is not recreated to change a cluster IP that desired names: a dry run does not show whether
// the address is free.
//
// All fields that others have written to the child are lost, except for the values named by Once. A
// child that differs from desired only because a webhook changes each new object is not recreated until
// desired changes.
func Recreate(dependents metav1.DeletionPropagation, extent ...RecreateExtent) ChildOption {
	return func(o *options) {
		o.recreate = cmp.Or(dependents, "nothing") // which is refused
		o.onDrift, o.deleteData = slices.Contains(extent, OnDrift), slices.Contains(extent, DeleteData)
		for _, e := range extent {
			if e != OnDrift && e != DeleteData {
				o.wrongExtent = strconv.Quote(string(e))
			}
		}
	}
}

// A RecreateExtent makes Recreate delete and create a child in more cases.
type RecreateExtent string

const (
	// OnDrift extends Recreate to drift: the child is also deleted and created again if somebody changed a
	// field and the API server refuses to revert the change.
	OnDrift RecreateExtent = "OnDrift"
	// DeleteData extends Recreate to the kinds whose deletion destroys data that cannot be created again:
	// PersistentVolumeClaim, PersistentVolume, Namespace and CustomResourceDefinition. In a Set, give it to
	// the child with OnlyFor.
	DeleteData RecreateExtent = "DeleteData"
)

// Release gives up the ownership of fields and keeps their values, for example of spec.replicas for an
// autoscaler. It is not enough to drop a field from desired: if nobody else owns the field, the API
// server then removes it or resets it to the default. A Deployment with 20 replicas would have 1 until
// the autoscaler acts.
//
// Paths have the form of Result.Changes and Error.Paths:
//
//	spec.replicas
//	metadata.annotations[example.com/x]
//	spec.template.spec.containers[name=web].resources
//	spec.ports[port=80,protocol=TCP].nodePort
//
// Each path includes everything below it, and desired must not specify the path. If an earlier apply
// had such a field, one additional request before the next apply moves the field to the field manager
// "<field owner>-released", until another program changes the value. So the field stays, whatever desired drops
// around it, and you may remove the option once all children were reconciled with it. Another program that
// applies another value without force gets a conflict with this manager: kubectl apply --server-side
// --force-conflicts, once. If the released field is in a list item that desired drops, the call is refused,
// and the error says to release the item.
//
// A field that the API server merges as a whole, such as a selector or a command, can be released
// only as a whole, and a list item only by all its keys. Otherwise the call is refused (ErrRefused).
//
// Without paths the option has no effect.
func Release(paths ...string) ChildOption {
	return func(o *options) { o.release = append(o.release, paths...) }
}

// Once names fields that are set at creation only, such as a generated password or the claim templates
// of a StatefulSet. The create sends their values in desired; later writes do not:
//
//	secret.Data = map[string][]byte{"user": []byte("app"), "password": newPassword()}
//	ensure.Object(ctx, e, secret, ensure.Once("data[password]"))
//
// In later calls, desired may have other values for these paths, or none. The digest and the comparison
// ignore these paths, so a difference is neither DesiredChanged nor Drifted, and a change or removal by
// somebody else stays. To bring back a value that somebody removed, leave out the option while the live
// object lacks the value.
//
// Paths have the form that Release describes, and each includes everything below it. In the metadata,
// only single labels and annotations can be named. For the stringData of a Secret, name data, where the
// API server stores it. A field that the API server merges as a whole, such as a selector or a list
// without keys, can be named only as a whole: otherwise the first apply after the creation is refused
// (ErrRefused), and nothing is lost.
//
// The create makes our field owner the owner of the values, and the first apply without them would
// remove them. So one additional request before that apply gives up the values, as Release does. This
// also happens for a child that was applied without Once before. Adopt, MigrateFrom and the removal of
// conflicting fields do not change these paths.
//
// If somebody deletes the child, the next create sends the current values of desired. If Recreate
// replaces the child, the new object gets the values of the old object, and the values of desired for
// paths that the old object does not have. Between the two requests, the old values are only in memory:
// if the program ends there, they are lost.
//
// Without the option, these values are applied like all others. Without paths, the option has no
// effect. For objects that are never written again, use IfMissing.
func Once(paths ...string) ChildOption {
	return func(o *options) { o.once = append(o.once, paths...) }
}

// MigrateFrom names field managers of earlier versions of this operator that wrote the child by Update or Patch, as
// controllerutil.CreateOrUpdate does, or by kubectl apply. Without MigrateFrom, a field that such a manager set stays when
// desired drops it, as the manager still owns it. Use the names in metadata.managedFields of the child:
//
//	kubectl get deployment web -o yaml --show-managed-fields
//
// A migration removes nothing from the child, unless the API server refuses desired because of a field, such as the other
// source of a volume. After an apply, a second write, of metadata only, takes the fields that
// desired specifies away from these managers, so that desired alone decides about them: Operation is Updated, and Cause is
// Migrated. Everything else that these managers set stays: keys of maps, list items and the fields of spec still belong to
// them, and fields in deeper structs in which desired has fields, too, belong to nobody, like defaults. Result.Kept lists
// these fields without those that have their default. To remove one, name it in Retire.
//
// The default name of a program is its file name, which is "manager" for every operator that kubebuilder scaffolds. What
// another program of that name set of the fields of desired counts as ours, and goes when desired drops it. Its other
// fields stay. Entries of subresources, such as status and scale, stay, too.
//
// MigrateFrom does not make a foreign object ours; see Adopt. If the earlier version runs again, the next pass takes its
// fields once more, so the option may stay in the code. Once nothing is left to take, the option costs no request. If
// the cache strips managed fields, fields are taken after the next apply.
//
// Whether a name in the managed fields is a field of a struct or a key of a map, the Go type says that the client's scheme
// has for the kind. For an unstructured object of a kind that the scheme does not know, the CustomResourceDefinition says
// it, if the operator may get it. Otherwise only the fields that desired specifies are taken.
//
// Without managers the option has no effect. For earlier names of the field owner, see FormerFieldOwners.
func MigrateFrom(managers ...string) ChildOption {
	return func(o *options) { o.migrateFrom = append(o.migrateFrom, managers...) }
}

// Retire removes fields that an earlier version of the operator left in the child, and that desired does not have, such as
// a container that has another name now. Fields at these paths that belong to a manager named by MigrateFrom, or to nobody,
// become ours before an apply, which then removes them. Fields of other managers stay, except inside a list item that goes.
// Result.Changes names the removed fields. The option works in any release that names the paths, and may stay in the code. A
// field that has its default and belongs to nobody stays: to find that out takes a dry run and an apply for each child after a
// restart of the operator.
//
// Name such an item as a whole, and so a list that the API server merges as a whole: a part is refused (ErrRefused).
//
// Paths have the form that Release describes, and each includes everything below it. Desired must not specify the path.
//
// Without paths the option has no effect.
func Retire(paths ...string) ChildOption {
	return func(o *options) { o.retire = append(o.retire, paths...) }
}

// OverwriteData allows the first apply to a Secret that exists to change data. Without it, such an apply is refused
// (ErrRefused) and nothing is written, because an operator that generates a password would replace the one that is in use.
// See Once for values that are only set at creation.
func OverwriteData() ChildOption {
	return func(o *options) { o.overwriteData = true }
}

func (o *options) changesOwnership() bool {
	return len(o.migrateFrom)+len(o.release)+len(o.once)+len(o.retire) > 0
}

// forChild returns the options for one child of a Set.
func (o *options) forChild(desired client.Object) options {
	own := *o
	own.only, own.prune, own.propagation, own.deleteAdopted = nil, nil, "", false
	if len(o.only) == 0 {
		return own
	}
	return own.narrowedTo(desired, o.only)
}

// narrowedTo returns the options, and those of only that are for desired.
func (o *options) narrowedTo(desired client.Object, only []narrowed) options {
	own := *o
	// Other children append to the same slices.
	own.migrateFrom, own.release = slices.Clip(o.migrateFrom), slices.Clip(o.release)
	own.once, own.retire = slices.Clip(o.once), slices.Clip(o.retire)
	for _, part := range only {
		if part.isFor(desired) {
			own.add(part.opts...)
		}
	}
	return own
}

// isSame compares pointers; other values, which no child can be, are never the same.
func isSame(a, b client.Object) bool {
	return reflect.ValueOf(a).Kind() == reflect.Pointer && reflect.ValueOf(b).Kind() == reflect.Pointer && a == b
}

func (n narrowed) isFor(child client.Object) bool { return isSame(n.child, child) }

// handover names the options by which fields change their owner.
func (o *options) handover() string {
	return strings.Join(slices.Concat(o.migrateFrom, []string{""}, o.release, []string{""}, o.once, []string{""}, o.retire), "\n")
}

// check refuses options that contradict each other, and values that no option has.
func (o *options) check(s *fault.Subject) error {
	switch {
	case o.ifMissing && (o.ifExists || o.adopt || o.recreate != "" || o.overwriteData || o.changesOwnership()):
		return s.Refuse("", "ensure.IfMissing does not change an existing object: "+
			"combine it with ensure.ControlledBy and ensure.DryRun only")
	case o.recreate != "" && o.recreate != metav1.DeletePropagationBackground && o.recreate != metav1.DeletePropagationOrphan:
		return s.Refuse("", fmt.Sprintf("ensure.Recreate takes Background or Orphan, not %q", o.recreate))
	case o.wrongExtent != "":
		return s.Refuse("", "ensure.Recreate takes ensure.OnDrift and ensure.DeleteData, not "+o.wrongExtent)
	}
	return nil
}
