package ensure

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
)

// hiddenAfter is the lag after which a cache counts as hiding a child.
const hiddenAfter = 2 * time.Minute

// read returns the object through the client, usually a cached copy, or nil if there is none.
func (c *child) read(ctx context.Context) (client.Object, error) {
	live, err := c.server.Read(ctx)
	if err != nil {
		return nil, err
	}
	c.backoff.Begin(live)
	if live != nil {
		c.memory.NoteShown(c.ID())
		c.Kind.NoteManaged(live)
	}
	return live, err
}

// complete returns live with its managed fields, from the API server if the cache may have stripped
// them.
func (c *child) complete(ctx context.Context, live client.Object) (client.Object, error) {
	if managedfields.HasAny(live) {
		return live, nil
	}
	return c.server.Reread(ctx, live)
}

// current returns live with its managed fields, as new as our last answer or newer. From an older copy,
// fields that became ours since would not be given up, and the apply would remove them.
func (c *child) current(ctx context.Context, live client.Object) (client.Object, error) {
	if c.isOutdated(live) {
		return c.server.Reread(ctx, live)
	}
	return c.complete(ctx, live)
}

// isHidden reports whether the API server has had a child of ours for long that the cache still does not
// show: drift would go unnoticed, and each pass would cost two requests.
func (c *child) isHidden(live client.Object) bool {
	if !c.isMissingFromCache {
		return false
	}
	now := c.clock.Now()
	return now.Sub(c.memory.NoteHidden(c.ID(), live.GetUID(), now)) >= hiddenAfter
}

var whyHidden = "it exists, but the operator's cache has not shown it for " + hiddenAfter.String() +
	": it lacks a label by which the cache selects, is in a namespace that the cache leaves out, or the watch has stopped, " +
	"which a restart of the operator corrects"

// loadRecord looks up the last confirmed state. Without one, c.last is empty.
func (c *child) loadRecord() { c.last = c.memory.Record(c.OwnedID()) }

// record returns the record of live, and whether there is one.
func (c *child) record(live client.Object) (memory.Record, bool) {
	return c.last, c.last.Digest != "" && c.last.UID == live.GetUID()
}

// noteShown remembers that the cache has shown live. If the cache shows the object no longer, the
// object was deleted.
func (c *child) noteShown(live client.Object) {
	if known, ok := c.record(live); ok && !known.Shown && !c.isMissingFromCache {
		c.last.Shown = true
		c.memory.Confirm(c.OwnedID(), c.last)
	}
}

// isExpected reports whether the cache should show the child soon: this Ensurer created or changed the
// child lately, and the cache has not shown it since.
func (c *child) isExpected() bool {
	c.loadRecord()
	return c.last.UID != "" && !c.last.Shown && c.clock.Now().Sub(c.last.At) < memory.MaxLag
}

// isStale reports whether live is a cached copy that is older than the last answer of the API server to
// this desired state, or a copy of an object that existed before. Differences are no drift then.
func (c *child) isStale(live client.Object) bool {
	return c.last.Digest == c.Digest && c.last.IsNewerThan(live.GetResourceVersion()) && c.clock.Now().Sub(c.last.At) < memory.MaxLag
}

// isOutdated reports whether live is older than our own last write.
func (c *child) isOutdated(live client.Object) bool {
	known, ok := c.record(live)
	return ok && known.IsNewerThan(live.GetResourceVersion())
}

// confirm remembers that live is the answer of the API server to desired.
func (c *child) confirm(live client.Object) {
	content, ok := c.Fingerprint(live)
	if !ok || c.DryRun { // nothing was stored
		return
	}
	c.memory.Applied.Set(c.ID(), memory.Applied{Digest: c.Digest, UID: live.GetUID(), Owner: c.ControllerName()})
	c.memory.Confirm(c.OwnedID(), memory.Record{
		UID:      live.GetUID(),
		Digest:   c.Digest,
		Checksum: c.Checksum,
		Version:  live.GetResourceVersion(),
		Content:  content,
		Metadata: c.MetadataFingerprint(live),
		Entry:    c.FieldsFingerprint(live),
		Handover: c.handover(),
		Retired:  c.retiredIn(live),
		Adopted:  c.adopted,
		At:       c.clock.Now(),
		Shown:    !c.isMissingFromCache && live.GetUID() == c.last.UID && c.last.Shown,
	})
}

// isConfirmed reports whether live has the content and the metadata of the last answer of the API
// server. So a webhook that changes desired, or even its metadata and digest, costs no request.
func (c *child) isConfirmed(live client.Object, known memory.Record) bool {
	if known.Digest != c.Digest {
		return false
	}
	isSame := known.UID != "" && known.Version == live.GetResourceVersion() // without UIDs, on the fake client, versions come again
	if isSame && known.Handover == c.handover() && (known.Entry != "" || !c.Kind.IsReset(live)) {
		return true
	}
	content, ok := c.Fingerprint(live)
	if !ok || content != known.Content || c.MetadataFingerprint(live) != known.Metadata {
		return false
	}
	if c.isDisowned(live, known) || c.isMigrationPending(live) {
		return false
	}
	known.Version, known.Handover, known.Retired, known.At = live.GetResourceVersion(), c.handover(), c.retiredIn(live), c.clock.Now()
	c.memory.Confirm(c.OwnedID(), known)
	return true
}

// isDisowned reports whether this field owner owns other fields of live than at the last answer of the
// API server.
func (c *child) isDisowned(live client.Object, known memory.Record) bool {
	if !managedfields.HasAny(live) {
		return c.Kind.IsReset(live)
	}
	entry := c.FieldsFingerprint(live)
	return entry == "" || known.Entry != "" && entry != known.Entry
}

// causeToWrite returns why an object that is not in sync will be written.
func (c *child) causeToWrite(live client.Object) layer.Cause {
	stored, _ := c.Operator.Stored(live)
	known, remembered := c.record(live)
	switch {
	case remembered && known.Digest == c.Digest:
		return layer.Drifted // also if the stored digest was changed: not by us
	case remembered, stored != "" && stored != c.Digest:
		return layer.DesiredChanged
	case stored != "":
		return layer.Drifted
	case !c.ours:
		return layer.Adopted
	case managedfields.HasAny(live) && c.Operator.Applied(live) == nil:
		return layer.DesiredChanged // an earlier version of the operator wrote live by an update
	}
	return layer.Drifted
}

// isReleaseUnfinished reports whether this field owner has applied no content of live although desired
// has some: the program ended while it gave live up.
func (c *child) isReleaseUnfinished(live client.Object) bool {
	own := c.Operator.Applied(live)
	if own == nil || managedfields.OwnedBy(own).OwnsBeside("metadata") {
		return false
	}
	content, err := canon.AppendContent(nil, c.WithoutIgnored(c.Desired))
	return err == nil && string(content) != "{}"
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
	if known, ok := c.record(live); ok {
		return c.isConfirmed(live, known)
	}
	if stored, _ := c.Operator.Stored(live); stored != c.Digest || c.Operator.HasNote(live) {
		return false
	}
	owner := c.Operator.FieldOwner
	isTouched := c.Kind.IsReset(live) || managedfields.TouchedSinceApply(live, owner, migrate.ReleasedBy(owner))
	if isTouched || !delta.Satisfies(live, c.WithoutIgnored(c.Desired), c.Operator.Owned(live)) {
		return false
	}
	if c.isReleaseUnfinished(live) || c.isMigrationPending(whole) {
		return false
	}
	c.confirm(live)
	return true
}
