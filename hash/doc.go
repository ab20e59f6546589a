// Package hash computes the digest of a desired object and stores it on the live object. An
// operator can then distinguish a new desired state from a change by somebody else.
//
//	digest, err := hash.Object(deployment)      // everything the Deployment specifies
//	store := hash.DefaultStore("shop-operator") // an annotation
//	if store.Get(live) != digest {
//		// the desired state has changed since live was written
//	}
//
// Package ensure does this by itself. Package hash is for operators with a loop of their own,
// and for digests of other values: the output of a template, or a ConfigMap whose change
// should restart pods.
//
// # What a digest covers
//
// Of digests any API value. Object digests everything that an object specifies: namespace and
// name, labels, annotations, owner references, finalizers and content. Object ignores the
// status, the fields that only the server sets (UID, resourceVersion, generation,
// managedFields, ...), and digests in their default place. A digest in another place counts as
// part of the object, like any label or annotation: compute the digest first, then store it.
//
// Values with the same meaning have the same digest: maps have no order, 1000m is 1, a Secret's
// stringData is data, and an absent field equals an empty struct of the Kubernetes API. An
// empty list differs from nil: ingress: [] closes a NetworkPolicy, and an absent ingress states
// nothing. Null is a value in free-form content and in unstructured custom kinds, and is ignored
// elsewhere. The typed and the unstructured form of an object can have different digests,
// because unstructured content is read as plain JSON.
//
// # Stability
//
// A digest survives upgrades: the same desired state has the same digest under every minor
// version of k8s.io/api, whatever optional fields a version adds. If the form of the digest
// ever has to change, the prefix v1- changes, too. A stored digest of the old form then differs
// from the new digest: an operator applies once more, the server changes only the annotation,
// and no pod restarts.
//
// This holds for a digest on the object itself. A digest in a pod template, which restarts pods
// when their ConfigMap changes, also restarts them when the form or the Digester changes. To
// fix the form, use Using with a plain algorithm there.
//
// # Secrets
//
// A digest of a Secret is safe to show only if nobody can guess the content: whoever can read
// the digest can test passwords against it. If untrusted users can read the annotation, use an
// HMAC (see Using).
package hash
