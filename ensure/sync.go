package ensure

import (
	"crypto/sha256"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// staleFor is how long a copy may be older than our own last answer. One that stays so
// comes from a watch that stopped, or the server was restored from a backup; then the
// server is asked again.
const staleFor = 2 * time.Minute

// isStale reports whether live is a cached copy from before our own last answer
// about this very desired state, or of an object that was there before. What differs
// then is not drift.
func (c *child) isStale(live client.Object) bool {
	return c.last.digest == c.digest && predates(live, c.last) && c.clock.Now().Sub(c.last.at) < staleFor
}

// isOutdated reports whether live is from before our own last answer.
func (c *child) isOutdated(live client.Object) bool {
	known, ok := c.known(live)
	return ok && predates(live, known)
}

// predates is never true for the fake client, which gives no UIDs and counts anew for
// an object made again.
func predates(live client.Object, known record) bool {
	return known.uid != "" && older(live.GetResourceVersion(), known.version)
}

// isExpected reports whether the cache should show the child soon: we made it, or wrote to
// it, lately, and the cache has not shown it since.
func (c *child) isExpected() bool {
	c.recall()
	return c.last.uid != "" && !c.last.shown && c.clock.Now().Sub(c.last.at) < staleFor
}

// noteShown remembers that the cache has shown live: once gone from there it was deleted.
func (c *child) noteShown(live client.Object) {
	if known, ok := c.known(live); ok && !known.shown && !c.unseen {
		c.last.shown = true
		c.memory.confirm(c.ownedID(), c.last)
	}
}

// recall looks up what the server confirmed last; the zero record, if nothing.
func (c *child) recall() { c.last, _ = c.memory.get(c.ownedID()) }

// known is what is remembered of live.
func (c *child) known(live client.Object) (record, bool) {
	return c.last, c.last.digest != "" && c.last.uid == live.GetUID()
}

// inSync reports whether nothing needs to be asked or written: the digest says that
// we applied this very desired state, and nobody touched the object since, as far as
// it concerns us.
//
// What the server made of desired (defaults, webhooks' work) is known only from its
// answers, so content that it confirmed is compared by fingerprint, not with
// desired. Without such memory, after a restart, live has to hold what desired
// specifies and no other manager may have written since we did: an addition inside
// an atomic part shows only there. whole is live, or a later copy with its managed fields.
func (c *child) inSync(live, whole client.Object) bool {
	if known, ok := c.known(live); ok {
		return c.isConfirmed(live, known)
	}
	if stored, _ := c.storedIn(live); stored != c.digest {
		return false
	}
	if !canon.Satisfies(live, c.applied(c.desired)) || managedfields.TouchedSinceApply(live, c.fieldOwner) ||
		c.isReset(live) || c.isGivenUp(live) || len(c.unfinished(whole)) > 0 {
		return false
	}
	c.confirm(live)
	return true
}

// isConfirmed compares with what the server answered, so that what a webhook makes of
// desired is not asked about again: not even of its metadata, the digest included.
func (c *child) isConfirmed(live client.Object, known record) bool {
	if known.digest != c.digest {
		return false
	}
	if known.uid != "" && known.version == live.GetResourceVersion() {
		return true // without UIDs, on the fake client, versions come again
	}
	content, ok := c.fingerprint(live)
	if !ok || content != known.content || c.oursIn(live) != known.ours || c.isDisowned(live, known) {
		return false
	}
	known.version, known.at = live.GetResourceVersion(), c.clock.Now()
	c.memory.confirm(c.ownedID(), known)
	return true
}

// confirm remembers that the server is content with live.
func (c *child) confirm(live client.Object) {
	content, ok := c.fingerprint(live)
	if !ok || c.dryRun { // nothing of it is there
		return
	}
	c.memory.written.Add(c.id(), c.digest)
	c.memory.confirm(c.ownedID(), record{
		uid:     live.GetUID(),
		digest:  c.digest,
		form:    c.form,
		version: live.GetResourceVersion(),
		content: content,
		ours:    c.oursIn(live),
		entry:   c.entryIn(live),
		adopted: c.adopted,
		at:      c.clock.Now(),
		shown:   !c.unseen && live.GetUID() == c.last.uid && c.last.shown,
	})
}

// fingerprint is a digest of everything but metadata and status, and what Once names.
func (c *child) fingerprint(live client.Object) (string, bool) {
	content, err := canon.AppendContent(nil, c.applied(live))
	if err != nil {
		return "", false
	}
	return digestOf(content), true
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return string(sum[:16])
}

// causeToWrite says why an object that is not in sync will be written.
func (c *child) causeToWrite(live client.Object) Cause {
	stored, _ := c.storedIn(live)
	known, remembered := c.known(live)
	switch {
	case remembered && known.digest == c.digest:
		return Drifted // also if the stored digest was changed: not by us
	case remembered, stored != "" && stored != c.digest:
		return DesiredChanged
	case !c.ours && stored == "":
		return Adopted
	}
	return Drifted
}
