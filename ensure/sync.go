package ensure

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// isStale reports whether live is a cached copy that is older than the last answer of the API server to
// this desired state, or a copy of an object that existed before. Differences are no drift then.
func (c *child) isStale(live client.Object) bool {
	return c.last.Digest == c.digest && c.last.IsNewerThan(live.GetResourceVersion()) && c.clock.Now().Sub(c.last.At) < memory.MaxLag
}

// isOutdated reports whether live is from before our own last answer.
func (c *child) isOutdated(live client.Object) bool {
	known, ok := c.known(live)
	return ok && known.IsNewerThan(live.GetResourceVersion())
}

// isExpected reports whether the cache should show the child soon: this Ensurer created or changed the
// child lately, and the cache has not shown it since.
func (c *child) isExpected() bool {
	c.recall()
	return c.last.UID != "" && !c.last.Shown && c.clock.Now().Sub(c.last.At) < memory.MaxLag
}

// noteShown remembers that the cache has shown live. If the cache shows the object no longer, the
// object was deleted.
func (c *child) noteShown(live client.Object) {
	if known, ok := c.known(live); ok && !known.Shown && !c.unseen {
		c.last.Shown = true
		c.memory.Confirm(c.ownedID(), c.last)
	}
}

// recall looks up the last confirmed state. Without one, c.last is the zero Record.
func (c *child) recall() { c.last = c.memory.Record(c.ownedID()) }

// known returns the record of live, and whether there is one.
func (c *child) known(live client.Object) (memory.Record, bool) {
	return c.last, c.last.Digest != "" && c.last.UID == live.GetUID()
}

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

// isConfirmed reports whether live has the content and the metadata of the last answer of the API
// server. So a webhook that changes desired, or even its metadata and digest, costs no request.
func (c *child) isConfirmed(live client.Object, known memory.Record) bool {
	if known.Digest != c.digest {
		return false
	}
	if known.UID != "" && known.Version == live.GetResourceVersion() {
		return true // without UIDs, on the fake client, versions come again
	}
	content, ok := c.fingerprint(live)
	if !ok || content != known.Content || c.oursIn(live) != known.Metadata || c.isDisowned(live, known) {
		return false
	}
	known.Version, known.At = live.GetResourceVersion(), c.clock.Now()
	c.memory.Confirm(c.ownedID(), known)
	return true
}

// confirm remembers that live is the answer of the API server to desired.
func (c *child) confirm(live client.Object) {
	content, ok := c.fingerprint(live)
	if !ok || c.dryRun { // nothing was stored
		return
	}
	c.memory.Applied.Set(c.id(), memory.Applied{Digest: c.digest, UID: live.GetUID(), Owner: c.controllerName()})
	c.memory.Confirm(c.ownedID(), memory.Record{
		UID:      live.GetUID(),
		Digest:   c.digest,
		Checksum: c.form,
		Version:  live.GetResourceVersion(),
		Content:  content,
		Metadata: c.oursIn(live),
		Entry:    c.entryIn(live),
		Adopted:  c.adopted,
		At:       c.clock.Now(),
		Shown:    !c.unseen && live.GetUID() == c.last.UID && c.last.Shown,
	})
}

// causeToWrite returns why an object that is not in sync will be written.
func (c *child) causeToWrite(live client.Object) Cause {
	stored, _ := c.storedIn(live)
	known, remembered := c.known(live)
	switch {
	case remembered && known.Digest == c.digest:
		return Drifted // also if the stored digest was changed: not by us
	case remembered, stored != "" && stored != c.digest:
		return DesiredChanged
	case !c.ours && stored == "":
		return Adopted
	}
	return Drifted
}
