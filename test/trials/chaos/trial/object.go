package trial

import (
	"fmt"
	"math/rand/v2"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

const (
	// namespaces is the number of namespaces that the objects are spread over.
	namespaces = 4
	// objectsPerRemovable is the number of objects for each that may be deleted for good.
	objectsPerRemovable = 10
)

// An object is an owner that one user changes; no other user does.
type object struct {
	kind *owners.Kind
	key  client.ObjectKey
	// isRemovable means that the object may be deleted for good.
	isRemovable bool
	// keepsOwners means that nobody removes the owner references of the children, because their garbage collection or
	// pruning depends on them; somebody may remove the managed fields instead. A child without both, without labels
	// and annotations, would not be recognized after a restart.
	keepsOwners bool
	// owner is the desired object, or the last one before its final deletion.
	owner  client.Object
	isGone bool

	cached []owners.Child // of the owner in from
	from   client.Object
}

// newObjects returns the objects of a kind with their first specs.
func newObjects(k *owners.Kind, plan Plan) []*object {
	random := randomOf(plan.Seed, k.Operator)
	objects := make([]*object, plan.Owners/len(owners.All()))
	for i := range objects {
		o := &object{
			kind:        k,
			key:         client.ObjectKey{Namespace: fmt.Sprintf("chaos-%d", i%namespaces), Name: fmt.Sprintf("%s-%d", k.Prefix, i)},
			isRemovable: i%objectsPerRemovable == 0,
		}
		o.keepsOwners = i%2 == 0 || k.Name() == "Site"
		o.owner = o.rename(k.New())
		k.Edit(random, o.owner)
		objects[i] = o
	}
	return objects
}

func (o *object) rename(owner client.Object) client.Object {
	owner.SetNamespace(o.key.Namespace)
	owner.SetName(o.key.Name)
	return owner
}

func (o *object) ref() owners.Ref {
	return owners.Ref{Kind: o.kind.Name(), Namespace: o.key.Namespace, Name: o.key.Name}
}

// children returns the desired children.
func (o *object) children() []owners.Child {
	if o.from != o.owner {
		o.cached, o.from = o.kind.Children(o.owner), o.owner
	}
	return o.cached
}

// child returns the name of one child and its desired state; false if no such child is desired at present.
func (o *object) child(index int) (owners.Ref, owners.Child, bool) {
	if index >= len(o.children()) {
		return owners.Ref{}, owners.Child{}, false
	}
	child := o.children()[index]
	return owners.RefTo(child.Want, o.key.Namespace), child, true
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }
