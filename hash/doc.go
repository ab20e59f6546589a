// Package hash computes the digest of a desired object and stores it on the live object. An
// operator can then distinguish a new desired state from a change by somebody else.
//
//	digest, err := hash.Object(deployment)      // everything the Deployment specifies
//	store := hash.DefaultStore("shop-operator") // an annotation
//	if store.Get(live) != digest {
//		// the desired state has changed since live was written
//	}
//
// Package ensure does this already. Package hash is for operators that do not use package ensure,
// and for digests of other values: the output of a template, or a ConfigMap whose change should
// restart pods.
//
// # What a digest covers
//
// The function Of digests any API value. The function Object digests everything that an object
// specifies: namespace and name, labels, annotations, owner references, finalizers and content.
// Object ignores the status, the fields that only the server sets (UID, resourceVersion,
// generation, managedFields, ...), and digests in the annotations of DefaultStore. A digest in
// another annotation or label counts as part of the object: compute the digest before you store it.
//
// Values with the same meaning have the same digest: the order of a map does not matter, the quantity
// 1000m equals 1, the stringData of a Secret equals its data, and an absent field equals an empty
// struct of the Kubernetes API. An empty list differs from nil: an object with an empty list specifies
// that the list is empty, and an object without the list specifies nothing. Null is a value in
// free-form content and in unstructured custom kinds, and is ignored elsewhere. The typed and the
// unstructured form of an object can have different digests, because unstructured content is read as
// plain JSON.
//
// # Stability
//
// A digest is stable across upgrades: the same desired state has the same digest under every minor
// version of k8s.io/api, even if a version adds optional fields. If the form of the digest ever has
// to change, the prefix v1- changes, too. A stored digest of the old form then differs from the new
// digest. The operator applies once more, the server changes only the annotation, and no pod
// restarts.
//
// This holds for a digest on the object itself. A digest in a pod template restarts pods when their
// ConfigMap changes, and also when the form or the Digester changes.
//
// # Secrets
//
// A digest of a Secret is safe to show only if nobody can guess the content: anyone who can read
// the digest can test passwords against it. If untrusted users can read the annotation, use an HMAC
// (see Using).
package hash
