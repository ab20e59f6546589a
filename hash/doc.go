// Package hash computes the digest of a desired state and keeps it on the object
// that was made from it, so that an operator can tell "I want something else now"
// from "somebody changed it".
//
//	digest, err := hash.Object(deployment)      // everything it specifies
//	store := hash.DefaultStore("shop-operator") // an annotation
//	if store.Get(live) != digest {
//		// the desired state has changed since live was written
//	}
//
// Package ensure does this by itself; hash is for those who write their own loop,
// or need the digest of something else: a template's output, a ConfigMap that a
// pod should restart for.
//
// # What is in a digest
//
// Of reads any API value, Object what an object specifies: namespace and name,
// labels, annotations, owner references, finalizers and content. Status and what
// only the server sets (UID, resourceVersion, generation, managedFields, …) are
// left out, as are digests in their default place. A digest kept elsewhere is
// part of the object like any other annotation or label: compute first, then
// store.
//
// What means the same has the same digest: maps have no order, 1000m is 1, a
// Secret's stringData is data, an absent field is the same as an empty struct of
// the Kubernetes API. nil and empty lists are different: ingress: [] closes a
// NetworkPolicy, no ingress says nothing about it. Null is a value in free-form content
// and in unstructured custom kinds, and says nothing elsewhere. Typed and unstructured forms
// of one object may have different digests, as unstructured content is read as
// the JSON it is.
//
// # The promise
//
// A digest survives upgrades: the same desired state has the same digest under
// every minor version of k8s.io/api, whatever optional fields that adds. Should
// the form ever have to change, so does the prefix v1-, and a stored digest of
// another form is simply a different one: an operator applies once more, the
// server finds nothing to do but the annotation, and no pod restarts.
//
// That holds where the digest is on the object itself. A digest that an operator
// puts into a pod template, to restart pods with their ConfigMap, does restart
// them when its form changes, as does a new Digester. Use Using with a plain
// algorithm there if you would rather pin the form yourself.
//
// # Secrets
//
// A digest of a Secret is safe to show only if its content cannot be guessed: who
// can read the digest can try passwords against it. Where strangers can read the
// annotation, use an HMAC, see Using.
package hash
