package ensure

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// inSync reports whether live needs no request: this desired state was applied, and nobody changed a
// field that concerns it since.
//
// The effects of defaults and webhooks on desired are known only from answers of the API server. So
// confirmed content is compared by its fingerprint and not with desired. After a restart, no content is
// confirmed. Then live must have all values that desired specifies, and no other manager may have
// written since the last apply: an addition inside an atomic part shows only there. whole is live, or a
// later copy with managed fields.
func (c *child) inSync(live, whole client.Object) bool {
	if known, ok := c.known(live); ok {
		return c.isConfirmed(live, known)
	}
	if stored, _ := c.storedIn(live); stored != c.digest || c.takeoverIn(live).digest != "" {
		return false
	}
	if !delta.Satisfies(live, c.applied(c.desired)) || managedfields.TouchedSinceApply(live, c.fieldOwner) ||
		c.isReset(live) || c.isGivenUp(live) || len(c.unfinished(whole)) > 0 {
		return false
	}
	c.confirm(live)
	return true
}
