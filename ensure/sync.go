package ensure

import (
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/canon"
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

// recall looks up the last confirmed state. Without one, c.last is the zero Record.
func (o *observation) recall() { o.last = o.memory.Record(o.ownedID()) }

// known returns the record of live, and whether there is one.
func (o *observation) known(live client.Object) (memory.Record, bool) {
	return o.last, o.last.Digest != "" && o.last.UID == live.GetUID()
}

// noteShown remembers that the cache has shown live. If the cache shows the object no longer, the
// object was deleted.
func (o *observation) noteShown(live client.Object) {
	if known, ok := o.known(live); ok && !known.Shown && !o.unseen {
		o.last.Shown = true
		o.memory.Confirm(o.ownedID(), o.last)
	}
}

// isStale reports whether live is a cached copy that is older than the last answer of the API server to
// this desired state, or a copy of an object that existed before. Differences are no drift then.
func (o *observation) isStale(live client.Object) bool {
	return o.last.Digest == o.digest && o.last.IsNewerThan(live.GetResourceVersion()) && o.clock.Now().Sub(o.last.At) < memory.MaxLag
}

// isOutdated reports whether live is from before our own last answer.
func (o *observation) isOutdated(live client.Object) bool {
	known, ok := o.known(live)
	return ok && known.IsNewerThan(live.GetResourceVersion())
}

// isExpected reports whether the cache should show the child soon: this Ensurer created or changed the
// child lately, and the cache has not shown it since.
func (o *observation) isExpected() bool {
	o.recall()
	return o.last.UID != "" && !o.last.Shown && o.clock.Now().Sub(o.last.At) < memory.MaxLag
}

// isDisowned reports whether this field owner owns other fields of live than at the last answer of the
// API server.
func (o *observation) isDisowned(live client.Object, known memory.Record) bool {
	if len(live.GetManagedFields()) == 0 {
		return o.isReset(live)
	}
	entry := o.entryIn(live)
	return entry == "" || known.Entry != "" && entry != known.Entry
}

// isConfirmed reports whether live has the content and the metadata of the last answer of the API
// server. So a webhook that changes desired, or even its metadata and digest, costs no request.
func (o *observation) isConfirmed(live client.Object, known memory.Record) bool {
	if known.Digest != o.digest {
		return false
	}
	if known.UID != "" && known.Version == live.GetResourceVersion() {
		return true // without UIDs, on the fake client, versions come again
	}
	content, ok := o.fingerprint(live)
	if !ok || content != known.Content || o.oursIn(live) != known.Metadata || o.isDisowned(live, known) {
		return false
	}
	known.Version, known.At = live.GetResourceVersion(), o.clock.Now()
	o.memory.Confirm(o.ownedID(), known)
	return true
}

// confirm remembers that live is the answer of the API server to desired.
func (o *observation) confirm(live client.Object) {
	content, ok := o.fingerprint(live)
	if !ok || o.dryRun { // nothing was stored
		return
	}
	o.memory.Applied.Set(o.id(), memory.Applied{Digest: o.digest, UID: live.GetUID(), Owner: o.controllerName()})
	o.memory.Confirm(o.ownedID(), memory.Record{
		UID:      live.GetUID(),
		Digest:   o.digest,
		Checksum: o.form,
		Version:  live.GetResourceVersion(),
		Content:  content,
		Metadata: o.oursIn(live),
		Entry:    o.entryIn(live),
		Adopted:  o.adopted,
		At:       o.clock.Now(),
		Shown:    !o.unseen && live.GetUID() == o.last.UID && o.last.Shown,
	})
}

// causeToWrite returns why an object that is not in sync will be written.
func (o *observation) causeToWrite(live client.Object) Cause {
	stored, _ := o.storedIn(live)
	known, remembered := o.known(live)
	switch {
	case remembered && known.Digest == o.digest:
		return Drifted // also if the stored digest was changed: not by us
	case remembered, stored != "" && stored != o.digest:
		return DesiredChanged
	case !o.ours && stored == "":
		return Adopted
	}
	return Drifted
}

// oursIn returns a fingerprint of the metadata of live that desired specifies, and of its digest.
// Labels, annotations, owners and finalizers of others do not count.
func (o *observation) oursIn(live client.Object) string {
	var found notes
	found.add(o.store.Get(live))
	found.addKeys(o.desired.GetLabels(), live.GetLabels())
	found.addKeys(o.desired.GetAnnotations(), live.GetAnnotations())
	owners := live.GetOwnerReferences()
	for _, wanted := range o.desired.GetOwnerReferences() {
		for _, ref := range owners {
			if sameOwner(ref, wanted) {
				found.add(ref.APIVersion, ref.Kind, ref.Name)
				found.addBool(ptr.Deref(ref.Controller, false))
				found.addBool(ptr.Deref(ref.BlockOwnerDeletion, false))
			}
		}
		found.add("")
	}
	finalizers := live.GetFinalizers()
	for _, finalizer := range o.desired.GetFinalizers() {
		found.addBool(slices.Contains(finalizers, finalizer))
	}
	return digestOf(found)
}

// isGivenUp reports whether this field owner has applied no content of live although desired has some:
// the program ended while it gave live up.
func (o *observation) isGivenUp(live client.Object) bool {
	own := managedfields.Applied(live, o.fieldOwner)
	if own == nil {
		return false
	}
	owned, _ := managedfields.Split(managedfields.Fields(own), isContent)
	content, err := canon.AppendContent(nil, o.applied(o.desired))
	return err == nil && string(content) != "{}" && owned.Empty()
}
