package ensure

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
)

// An Option changes one call.
type Option func(*options)

type options struct {
	controlled bool
	owner      client.Object
	adopt      bool
	ifExists   bool
	ifMissing  bool
	dryRun     bool

	recreate      metav1.DeletionPropagation // what becomes of dependents then; empty: never
	recreateNamed bool                       // for this very child, by OnlyFor
	onDrift       bool                       // recreate also for drift
	migrateFrom   []string
	release       []string
	once          []string

	retire        []string
	overwriteData bool // of an existing Secret

	propagation   metav1.DeletionPropagation // of Absent, and of pruning
	deleteAdopted bool
	prune         []client.Object // one of each kind
	pruneReady    bool            // once all children are ready
	only          []narrowed
	isNil         bool // one of the options
}

// narrowed are options for one child of a Set.
type narrowed struct {
	child client.Object
	opts  []Option
}

func resolve(opts []Option) options {
	var o options
	o.add(opts)
	return o
}

func (o *options) add(opts []Option) {
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
func ControlledBy(owner client.Object) Option {
	return func(o *options) { o.controlled, o.owner = true, owner }
}

// Adopt lets Object adopt an existing object that is not ours, instead of failing with ErrForeign. With
// ControlledBy, Object adopts only an object without a controller, or an object that another program
// applied for the same owner. Without ControlledBy, our fields are applied to any object, and its owner
// references stay, including a controller that an earlier call with ControlledBy set.
//
// A prefix of the stored digest marks an adopted object. Absent and Prune give up our fields and do not
// delete the object, unless DeleteAdopted is given. Recreate does not replace the object. After a
// restart, an object whose digest was removed, and that is ours only by its managed fields, counts as
// adopted. With
// ControlledBy, the garbage collector still deletes the object with its owner. If somebody emptied the
// managed fields before the adoption, the writer of the reference to the owner is unknown, and Absent
// removes the reference with our fields.
func Adopt() Option {
	return func(o *options) { o.adopt = true }
}

// IfExists updates the object if it exists, and never creates it. Use it for objects that somebody else
// creates, such as the claims of a StatefulSet, usually together with Adopt. If the object does not
// exist, Operation is Gone and Live is nil. Object trusts the cache for this. If the API server does
// not serve the kind, the object does not exist, as for Absent.
func IfExists() Option {
	return func(o *options) { o.ifExists = true }
}

// IfMissing creates the object if it does not exist, and never writes to it afterwards. Use it for
// objects that users edit, such as an initial configuration. For an existing object, Operation is
// Unchanged, whatever the content and the creator. Exceptions are an object that another controller
// owns (ErrForeign) and an object that is being deleted (ErrTerminating). If somebody deletes the
// object, it is created again. For parts of an object, such as one generated key of a Secret, use Once.
func IfMissing() Option {
	return func(o *options) { o.ifMissing = true }
}

// DryRun lets the API server compute the outcome and store nothing. The Result describes what a call
// without DryRun would do, and Live is the resulting object. For a recreation, only the deletion can be
// tried, and Live is the current object.
func DryRun() Option {
	return func(o *options) { o.dryRun = true }
}

// Propagation decides what happens to the dependents of an object that Absent deletes or Set prunes.
// Dependents are the objects with an owner reference to that object. The default is
// metav1.DeletePropagationBackground, which deletes the dependents after the object, also for Jobs,
// whose pods the API server would orphan by default. metav1.DeletePropagationForeground deletes the
// dependents first, and metav1.DeletePropagationOrphan keeps them.
func Propagation(policy metav1.DeletionPropagation) Option {
	return func(o *options) { o.propagation = policy }
}

// DeleteAdopted makes Absent, and Set with Prune, delete adopted objects, which somebody else created.
// Without DeleteAdopted, they only give up our fields.
func DeleteAdopted() Option {
	return func(o *options) { o.deleteAdopted = true }
}

func (o *options) changesOwnership() bool {
	return len(o.migrateFrom)+len(o.release)+len(o.once)+len(o.retire) > 0 || o.overwriteData
}

// of are the options of one of the children.
func (o *options) of(desired client.Object) options {
	own := *o
	own.prune, own.propagation, own.deleteAdopted = nil, "", false
	own = own.narrowedTo(desired)
	own.only = nil
	return own
}

// narrowedTo returns the options, and those that OnlyFor gives to desired. The options of other
// children stay in only.
func (o *options) narrowedTo(desired client.Object) options {
	if len(o.only) == 0 {
		return *o // without the allocation of another
	}
	own := *o
	own.only = nil
	for _, part := range o.only {
		if !part.isFor(desired) {
			own.only = append(own.only, part)
			continue
		}
		own.add(part.opts)
		own.recreateNamed = own.recreateNamed || resolve(part.opts).recreate != ""
	}
	return own
}

// isSame compares pointers; other values, which no child can be, are never the same.
func isSame(a, b client.Object) bool {
	return reflect.ValueOf(a).Kind() == reflect.Pointer && reflect.ValueOf(b).Kind() == reflect.Pointer && a == b
}

func (n narrowed) isFor(child client.Object) bool { return isSame(n.child, child) }

// allowed are the options that allow writes.
type allowed struct {
	recreate, propagation metav1.DeletionPropagation
	named, onDrift        bool
	adopt, deleteAdopted  bool
	ifExists, ifMissing   bool
	overwrite             bool
	handover              string
}

// Allowed implements backoff.Options.
func (o *options) Allowed() any {
	return allowed{
		recreate: o.recreate, propagation: o.propagation, named: o.recreateNamed, onDrift: o.onDrift,
		adopt: o.adopt, deleteAdopted: o.deleteAdopted, ifExists: o.ifExists, ifMissing: o.ifMissing,
		overwrite: o.overwriteData, handover: o.handover(),
	}
}

// handover names the options by which fields change their owner.
func (o *options) handover() string {
	if !o.changesOwnership() {
		return ""
	}
	return strings.Join(slices.Concat(o.migrateFrom, []string{""}, o.release, []string{""}, o.once, []string{""}, o.retire), "\n")
}

// check refuses options that mean nothing for an object that is wanted.
func (o *options) check(s *fault.Subject) error {
	switch {
	case o.propagation != "":
		return s.Refuse("", "ensure.Propagation is for ensure.Absent and ensure.Prune: Object deletes nothing")
	case o.deleteAdopted:
		return s.Refuse("", "ensure.DeleteAdopted is for ensure.Absent and ensure.Prune: Object deletes nothing")
	case o.prune != nil:
		return s.Refuse("", "ensure.Prune is for ensure.Set")
	case o.only != nil:
		return s.Refuse("", "ensure.OnlyFor names another object: pass the pointer that ensure.Object got")
	case o.ifMissing && (o.ifExists || o.adopt || o.recreate != "" || o.changesOwnership()):
		return s.Refuse("", "ensure.IfMissing does not change an existing object: "+
			"combine it with ensure.ControlledBy and ensure.DryRun only")
	case o.onDrift && o.recreate == "":
		return s.Refuse("", "ensure.RecreateOnDrift has no meaning without ensure.Recreate")
	case o.recreate != "" && o.recreate != metav1.DeletePropagationBackground && o.recreate != metav1.DeletePropagationOrphan:
		return s.Refuse("", fmt.Sprintf("ensure.Recreate takes Background or Orphan, not %q", o.recreate))
	}
	return nil
}
