package layer

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// Fingerprint returns a digest of the content of live, without the metadata, the status and the fields
// that are ignored. It is false for content that cannot be read.
func (c *Child) Fingerprint(live client.Object) (string, bool) {
	content, err := canon.AppendContent(nil, c.WithoutIgnored(live))
	if err != nil {
		return "", false
	}
	return sum(content), true
}

func sum(content []byte) string {
	sum := sha256.Sum256(content)
	return string(sum[:16])
}

// MetadataFingerprint returns a fingerprint of the metadata of live that desired specifies, and of its
// digest. Labels, annotations, owners and finalizers of others do not count.
func (c *Child) MetadataFingerprint(live client.Object) string {
	var found digestInput
	found.add(c.Operator.Store.Get(live))
	found.addKeys(c.Desired.GetLabels(), live.GetLabels())
	found.addKeys(c.Desired.GetAnnotations(), live.GetAnnotations())
	owners := live.GetOwnerReferences()
	for _, wanted := range c.Desired.GetOwnerReferences() {
		for _, ref := range owners {
			if SameOwner(ref, wanted) {
				found.add(ref.APIVersion, ref.Kind, ref.Name)
				found.addBool(ptr.Deref(ref.Controller, false))
				found.addBool(ptr.Deref(ref.BlockOwnerDeletion, false))
			}
		}
		found.add("")
	}
	finalizers := live.GetFinalizers()
	for _, finalizer := range c.Desired.GetFinalizers() {
		found.addBool(slices.Contains(finalizers, finalizer))
	}
	return sum(found)
}

// FieldsFingerprint returns a fingerprint of the fields of live that this field owner has applied,
// except for those that are ignored. It is empty if live has no managed fields.
func (c *Child) FieldsFingerprint(live client.Object) string {
	own := c.Operator.Applied(live)
	if own == nil || own.FieldsV1 == nil {
		return ""
	}
	if len(c.Ignored) > 0 {
		_, rest := managedfields.Split(managedfields.Fields(own), c.IsLeft)
		return sum(managedfields.Raw(managedfields.WithFields(*own, rest).FieldsV1))
	}
	return sum(managedfields.Raw(own.FieldsV1))
}

// Snapshot returns a fingerprint of live that changes when somebody changes its content, or which labels, annotations,
// finalizers and owners it has.
func (c *Child) Snapshot(live client.Object) memory.Snapshot {
	var found digestInput
	content, _ := c.Fingerprint(live) // content that cannot be read always looks the same, and is never in sync
	found.add(content)
	found.add(slices.Sorted(maps.Keys(live.GetLabels()))...)
	found.add("")
	found.add(slices.Sorted(maps.Keys(live.GetAnnotations()))...)
	found.add("")
	found.add(live.GetFinalizers()...)
	found.add("")
	for _, owner := range live.GetOwnerReferences() {
		found.add(string(owner.UID), owner.Name)
	}
	return memory.Snapshot{UID: live.GetUID(), Sum: sha256.Sum256(found)}
}

// A digestInput is a sequence of texts and booleans, separated by quotes.
type digestInput []byte

func (n *digestInput) add(texts ...string) {
	for _, text := range texts {
		*n = strconv.AppendQuote(*n, text)
	}
}

func (n *digestInput) addBool(value bool) { *n = strconv.AppendBool(*n, value) }

func (n *digestInput) addKeys(desired, live map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		value, there := live[key]
		n.add(key, value)
		n.addBool(there)
	}
	n.add("")
}
