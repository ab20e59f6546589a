// Package owners describes the custom resources of the example operators, and the children that each of them should
// have.
package owners

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Kind describes the objects that one operator reconciles.
type Kind struct {
	// Operator is the operator's folder below examples, and Args are its arguments.
	Operator string
	Args     []string
	// Lease is the name of the lease of the operator's leader election; empty if it takes part in none.
	Lease string
	// Prefix begins the names of the objects, and is contained in the names of their children.
	Prefix string
	// AddToScheme makes a scheme know the kind.
	AddToScheme func(*runtime.Scheme) error
	// New returns an object with an empty spec, and Edit changes the spec.
	New  func() client.Object
	Edit func(*rand.Rand, client.Object)
	// Finalizer is the operator's finalizer, if any.
	Finalizer string
	// Children returns the children that an object should have, those of its children included.
	Children func(client.Object) []Child
	// Ready returns the condition that an object should have in the end.
	Ready func(client.Object) (metav1.ConditionStatus, string)
	// ListsChildren means that the status lists the children.
	ListsChildren bool
	// Status returns more of the status that an object should have; it may be nil.
	Status func(client.Object) Manifest
}

// A Child is an object that an operator ensures for an owner.
type Child struct {
	Want Manifest
	// Digest is the key of the label or annotation with the digest of an operator.
	Digest string
	// Controller is the kind of the object of the owner's name that controls the child.
	Controller string
	// KeepsDigest means that nobody removes the digest. After a restart, an object without a digest counts as
	// adopted, and the operator does not delete it any more.
	KeepsDigest bool
}

// Kind returns the kind of the child.
func (c Child) Kind() string { return Text(c.Want, "kind") }

// All returns the kinds of all operators.
func All() []*Kind {
	return []*Kind{application(), reverseWordsApp(), site(), bookStore(), postgresWriter()}
}

// Name returns the kind of the objects, as in manifests.
func (k *Kind) Name() string { return kindOf(k.New()) }

func isReady(client.Object) (metav1.ConditionStatus, string) { return metav1.ConditionTrue, "" }

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

var serviceTypes = []corev1.ServiceType{corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort, corev1.ServiceTypeClusterIP}
