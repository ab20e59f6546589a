package ensure

import (
	"hash/maphash"
	"maps"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/canon"
)

// stamp sets c.desired to a copy of desired with namespace, labels and owner, and computes its digest.
func (c *child) stamp(desired client.Object) error {
	c.desired = c.copyForStamping(desired)
	if err := c.readOnce(); err != nil {
		return err
	}
	c.desired.SetNamespace(c.key.Namespace)
	if len(c.labels) > 0 {
		labels := maps.Clone(desired.GetLabels())
		if labels == nil {
			labels = make(map[string]string, len(c.labels))
		}
		maps.Copy(labels, c.labels)
		c.desired.SetLabels(labels)
	}
	if !c.controlled {
		c.controller = metav1.GetControllerOfNoCopy(c.desired)
	} else if err := c.stampOwner(); err != nil {
		return err
	}
	c.splitOnce()
	return c.computeDigest()
}

// forms are buffers for canonical forms. One that a giant object grew is not kept.
var forms = sync.Pool{New: func() any { return new([]byte) }}

const maxKeptForm = 64 << 10

// computeDigest sets the digest of everything that desired specifies, except for a stored digest.
// Mostly, desired is the same as in the pass before. A checksum of its canonical form shows that for a
// tenth of the cost of a digest.
func (c *child) computeDigest() error {
	err := c.store.Set(c.desired, "")
	if err == nil {
		err = c.checksum()
	}
	c.recall()
	switch {
	case err != nil:
	case c.last.Digest != "" && c.last.Checksum == c.form:
		c.digest = c.last.Digest
	default:
		c.digest, err = c.digester.Object(c.applied(c.desired))
	}
	if err != nil {
		return c.unfitDigest(err)
	}
	return nil
}

// checksum sets the checksum of desired. The seed differs in each process, so that nobody can construct
// two desired states with the same checksum; by chance, two have the same once in 2^64.
func (c *child) checksum() error {
	buffer, _ := forms.Get().(*[]byte)
	defer forms.Put(buffer)
	form, err := canon.AppendObject((*buffer)[:0], c.applied(c.desired))
	if err != nil {
		return err
	}
	c.form = maphash.Bytes(c.seed, form)
	if cap(form) <= maxKeptForm {
		*buffer = form
	}
	return nil
}

// adoptedMark is the prefix of the stored digest of a child that somebody else created. No digest begins
// with this prefix: digests are hex digits, or v1- and hex digits. A label has room for the prefix and 56
// hex digits.
const adoptedMark = "adopt-"

// storedIn returns the digest that live carries, and whether the child was adopted.
func (c *child) storedIn(live client.Object) (digest string, adopted bool) {
	return digestIn(c.store.Get(live))
}

// digestIn returns the digest in a stored value, and whether the child was adopted.
func digestIn(stored string) (digest string, adopted bool) {
	stored, _, _ = strings.Cut(stored, takeoverMark)
	return strings.CutPrefix(stored, adoptedMark)
}

// withDigest returns desired with its digest, as it is sent. A pass that sends nothing does not build
// it.
func (c *child) withDigest() (canon.Object, error) {
	if c.stamped == nil {
		digest := c.digest
		if c.adopted {
			digest = adoptedMark + digest
		}
		stamped := c.copyForStamping(c.desired)
		if err := c.store.Set(stamped, digest); err != nil {
			return nil, c.unfitDigest(err)
		}
		c.stamped = stamped
	}
	return c.applied(c.stamped), nil
}

func (c *child) unfitDigest(err error) *Error {
	refusal := c.refuse("", "cannot compute or store its digest: "+err.Error())
	refusal.cause = err
	return refusal
}
