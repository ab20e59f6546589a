package ensure

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

	removeFromPods bool // what old managers wrote into pod templates

	propagation   metav1.DeletionPropagation // of Absent, and of pruning
	deleteAdopted bool
	prune         []client.Object // one of each kind
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

// ControlledBy makes owner the controller of the child: the child is deleted with
// it, wakes its reconciler through Owns, and is written only while no other
// controller has it. The owner must have been read from the API server and not be
// on its way out; one that is namespaced must share its namespace with the child,
// which takes it from the owner when it names none.
//
// A later call without it is ErrForeign, as the child is still the owner's. With Adopt that
// call goes on, and the child keeps its controller.
func ControlledBy(owner client.Object) Option {
	return func(o *options) { o.controlled, o.owner = true, owner }
}

// Adopt takes over an object that exists already and is not ours, which is
// ErrForeign otherwise. With ControlledBy only an object without a controller is
// taken, or one that another program applied for the same owner. Without it our fields are
// applied to any object, and its owners stay as they are, a
// controller that an earlier call with ControlledBy gave it, too.
//
// What is adopted stays known as somebody else's, by a prefix of its stored digest: Absent and
// Prune give up our fields and do not delete it, unless DeleteAdopted says so, and Recreate
// leaves it alone. Whatever is ours by our managed fields only, as its digest was removed, counts as
// adopted. With ControlledBy the garbage collector deletes it with its owner all the same. If
// somebody emptied its managed fields before, nothing tells whose the reference to the owner is that
// ControlledBy names: Absent removes that with our fields.
func Adopt() Option {
	return func(o *options) { o.adopt = true }
}

// IfExists updates the object if there is one and never creates it: for what somebody else
// makes, such as the claims of a StatefulSet, mostly with Adopt. If there is none,
// Operation is Gone and Live is nil. A cache that has no such object is believed. Of a kind that
// the API server does not serve, as with Absent, there is none.
func IfExists() Option {
	return func(o *options) { o.ifExists = true }
}

// IfMissing creates the object if there is none and never writes it again: for what users are
// to edit afterwards, such as a first configuration. What exists is Unchanged, whatever is in
// it and whoever made it, unless another controller owns it (ErrForeign) or it is being
// deleted (ErrTerminating). If somebody deletes it, it is created again. Once is for parts of
// an object, such as a generated password in a Secret whose other keys are kept as desired.
func IfMissing() Option {
	return func(o *options) { o.ifMissing = true }
}

// DryRun asks the API server what would be done and has it store nothing. The Result tells
// what would have been done; Live is the object as it would be, of a recreation as it is.
// Of a recreation only the delete can be tried.
func DryRun() Option {
	return func(o *options) { o.dryRun = true }
}

// Propagation says what becomes of the dependents of what Absent deletes, or Set prunes:
// those that name it as their owner. By default they are deleted after it
// (metav1.DeletePropagationBackground), for Jobs as well, whose own default is to leave
// their pods behind. Foreground deletes them first, Orphan leaves them.
func Propagation(policy metav1.DeletionPropagation) Option {
	return func(o *options) { o.propagation = policy }
}

// DeleteAdopted has Absent, and Set with Prune, delete what somebody else made and Adopt took
// over, too. Without it they give up our fields and leave the object to whoever made it. After
// MigrateFrom these are all that the old operator had set, and an empty object may be left.
func DeleteAdopted() Option {
	return func(o *options) { o.deleteAdopted = true }
}
