package together

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A kind describes the objects of one operator.
type kind struct {
	// operator is the operator's folder below examples, and args are its arguments.
	operator string
	args     []string
	// prefix begins the names of the objects, and is contained in the names of their children.
	prefix string
	// addToScheme knows the kind.
	addToScheme func(*runtime.Scheme) error
	// newOwner returns an object with an empty spec, and edit changes the spec.
	newOwner func() client.Object
	edit     func(*rand.Rand, client.Object)
	// finalizer is the operator's finalizer, if any.
	finalizer string
	// children returns the desired children of an owner: the same kinds and names for every spec.
	// digest is the key of a label or annotation of each child.
	children func(client.Object) []manifest
	digest   string
	// ready returns the owner's expected final condition and some more of its expected status.
	ready  func(client.Object) (metav1.ConditionStatus, string)
	status func(client.Object) manifest
	// check finds other errors, if the kind needs more checks.
	check func(*clusterState, []*object) []string
	// actions lists the actions for this kind, besides the actions for all owners and children.
	actions []action
}

// kinds returns the kinds of all operators.
func kinds() []*kind {
	return []*kind{application(), reverseWordsApp(), bookStore(), postgresWriter()}
}

// An object is a custom resource that one simulated user changes; no other user changes it.
type object struct {
	kind *kind
	key  client.ObjectKey
	// isRemovable means that the object may be deleted for good. As garbage collection deletes the
	// children then, nobody removes their owner references before.
	isRemovable bool
	// owner is the wanted object, or the last one before its final deletion.
	owner  client.Object
	isGone bool

	// manifests caches the desired children for the spec in told.
	manifests []manifest
	told      client.Object
}

func (o *object) rename(owner client.Object) client.Object {
	owner.SetNamespace(o.key.Namespace)
	owner.SetName(o.key.Name)
	return owner
}

// children returns the object's desired children.
func (o *object) children() []manifest {
	if o.told != o.owner {
		o.manifests, o.told = o.kind.children(o.owner), o.owner
	}
	return o.manifests
}

// child returns the reference of one child and its desired state.
func (o *object) child(index int) (ref, manifest) {
	want := o.children()[index]
	return refOf(want, o.key.Namespace), want
}

func anyReason(status metav1.ConditionStatus) func(client.Object) (metav1.ConditionStatus, string) {
	return func(client.Object) (metav1.ConditionStatus, string) { return status, "" }
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

var serviceTypes = []corev1.ServiceType{corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort, corev1.ServiceTypeClusterIP}
