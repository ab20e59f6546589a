package conformance_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A kindCase is one kind, written as an operator's author would write an object, with possible
// changes.
type kindCase struct {
	name    string
	desired func() client.Object
	// rename gives an object of a kind that is in no namespace a name of the test's
	// own; nil for the kinds that are in one.
	rename func(obj client.Object, suffix string)
	// settled reports whether the built-in controllers are done; nil if there are none.
	settled func(client.Object) bool
	// edits are changes that a user may make to specified fields.
	edits []edit
	// additions are fields of other programs besides the specified ones, which survive.
	additions []edit
	// next makes another desired state; gone reports whether the fields dropped by next are gone
	// from live.
	next func(client.Object)
	gone func(client.Object) bool
	// exceptions are the properties that do not hold, each with a reason.
	exceptions map[string]string
}

// bySuffix is how most kinds that are in no namespace can be renamed.
func bySuffix(obj client.Object, suffix string) { obj.SetName(obj.GetName() + "-" + suffix) }

type edit struct {
	name string
	do   func(client.Object)
}

// on makes an edit of a typed object.
func on[T client.Object](name string, do func(T)) edit {
	return edit{name: name, do: func(obj client.Object) { do(obj.(T)) }}
}

func is[T client.Object](check func(T) bool) func(client.Object) bool {
	return func(obj client.Object) bool { return check(obj.(T)) }
}

func then[T client.Object](change func(T)) func(client.Object) {
	return func(obj client.Object) { change(obj.(T)) }
}

const (
	ours   = "app.example.com/ours"
	theirs = "theirs.example.com/note"
)

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{"app": name, ours: "yes"},
		Annotations: map[string]string{ours: "made by a test"},
	}
}

// kindCases are the kinds.
func kindCases() []kindCase {
	return []kindCase{
		// Workloads.
		deployment(), statefulSet(), daemonSet(), replicaSet(), replicationController(), podTemplateObject(), pod(),
		job(), cronJob(), autoscaler(), disruptionBudget(),
		priorityClass(), runtimeClass(), flowSchema(), priorityLevel(),
		// Configuration.
		configMap(), secret(), serviceAccount(), namespace(), resourceQuota(), limitRange(), lease(),
		// Networks.
		service(), clusterIPService(), headlessService(), loadBalancer(), externalName(), endpointSlice(),
		ingress(), ingressClass(), networkPolicy(), closingNetworkPolicy(), openingNetworkPolicy(),
		// Storage.
		claim(), volume(), storageClass(), csiDriver(),
		// Rights.
		role(), roleBinding(), clusterRole(), aggregatedClusterRole(), clusterRoleBinding(),
		// Extensions of the server.
		customResourceDefinition(), apiService(),
		validatingWebhooks(), mutatingWebhooks(), admissionPolicy(), admissionPolicyBinding(),
		gadget(), unstructuredGadget(),
	}
}
