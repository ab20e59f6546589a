package together

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A kind is what one operator looks after.
type kind struct {
	// operator is its folder below examples, args how it is started.
	operator string
	args     []string
	// prefix begins the names of the objects, and is found in those of all that is made
	// for them.
	prefix string
	// addToScheme knows the kind.
	addToScheme func(*runtime.Scheme) error
	// newOwner returns an object that asks for nothing yet, and edit has it ask for
	// something else.
	newOwner func() client.Object
	edit     func(*rand.Rand, client.Object)
	// finalizer is the operator's, if it has one.
	finalizer string
	// children are what is to be there for an owner: the same kinds and names, whatever
	// it asks for. digest is the key of the label or annotation that each has.
	children func(client.Object) []manifest
	digest   string
	// ready is the condition that the owner is to have in the end, and status some more of
	// its status.
	ready  func(client.Object) (metav1.ConditionStatus, string)
	status func(client.Object) manifest
	// check finds what is wrong beside all that, if there is more to it.
	check func(*world, []*object) []string
	// acts are what people do beside what they do to all owners and children.
	acts []act
}

// kinds are those of all operators.
func kinds() []*kind {
	return []*kind{application(), reverseWordsApp(), bookStore(), postgresWriter()}
}

// An object is one of a kind that people look after: each the same person's, all the time.
type object struct {
	kind *kind
	key  client.ObjectKey
	// isMortal says that it may be removed for good. As garbage collection is what takes
	// the children along then, nobody takes their owner from them before.
	isMortal bool
	// owner is what is asked for, or was before it was removed for good.
	owner  client.Object
	isGone bool

	// manifests are what its children should be when it asks for what told does.
	manifests []manifest
	told      client.Object
}

func (o *object) rename(owner client.Object) client.Object {
	owner.SetNamespace(o.key.Namespace)
	owner.SetName(o.key.Name)
	return owner
}

// children are what is to be there for it.
func (o *object) children() []manifest {
	if o.told != o.owner {
		o.manifests, o.told = o.kind.children(o.owner), o.owner
	}
	return o.manifests
}

// child is the reference of one of them, and what it should be.
func (o *object) child(index int) (ref, manifest) {
	want := o.children()[index]
	return refOf(want, o.key.Namespace), want
}

func anyReason(status metav1.ConditionStatus) func(client.Object) (metav1.ConditionStatus, string) {
	return func(client.Object) (metav1.ConditionStatus, string) { return status, "" }
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

var serviceTypes = []corev1.ServiceType{corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort, corev1.ServiceTypeClusterIP}
