package ensure

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stamp makes c.desired, which is desired with namespace, labels and owner, and its
// digest.
func (c *child) stamp(desired client.Object) error {
	c.desired = c.copyForStamping(desired)
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
	return c.computeDigest()
}

// computeDigest is of everything that desired specifies but a digest.
func (c *child) computeDigest() error {
	err := c.store.Set(c.desired, "")
	if err == nil {
		c.digest, err = c.digester.Object(c.desired)
	}
	if err != nil {
		return c.unfitDigest(err)
	}
	return nil
}

// withDigest is what is sent: desired with its digest. Passes that send nothing never
// make it.
func (c *child) withDigest() (client.Object, error) {
	if c.stamped != nil {
		return c.stamped, nil
	}
	stamped := c.copyForStamping(c.desired)
	if err := c.store.Set(stamped, c.digest); err != nil {
		return nil, c.unfitDigest(err)
	}
	c.stamped = stamped
	return stamped, nil
}

func (c *child) unfitDigest(err error) *Error {
	refusal := c.refuse("", "cannot compute or store its digest: "+err.Error())
	refusal.cause = err
	return refusal
}
