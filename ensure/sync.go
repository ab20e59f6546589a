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
)

// hiddenAfter is the lag after which a cache counts as hiding a child.
const hiddenAfter = 2 * time.Minute

// read returns the object through the client, usually a cached copy, or nil if there is none.
func (p *pass) read(ctx context.Context) (client.Object, error) {
	live, err := p.server.Read(ctx)
	if err != nil {
		return nil, err
	}
	p.layers.begin(live)
	if live != nil {
		p.server.Memory.NoteShown(p.child.ID())
		p.child.Kind.NoteManaged(live)
	}
	return live, err
}

// noteHidden notes that the API server has live, if the cache does not show it, and reports whether that has been so for
// long: drift would go unnoticed, and each pass would cost two requests.
func (p *pass) noteHidden(live client.Object) bool {
	if !p.server.IsCacheBehind {
		return false
	}
	now := p.ensurer.clock.Now()
	return now.Sub(p.server.Memory.NoteHidden(p.child.ID(), live.GetUID(), now)) >= hiddenAfter
}

var whyHidden = "it exists, but the operator's cache has not shown it for " + hiddenAfter.String() +
	": it lacks a label by which the cache selects, is in a namespace that the cache leaves out, or the watch has stopped, " +
	"which a restart of the operator corrects"

// confirm remembers that live is the answer of the API server to desired.
func (p *pass) confirm(live client.Object) {
	content, ok := p.child.Fingerprint(live)
	if !ok || p.child.DryRun { // nothing was stored
		return
	}
	p.server.Memory.Applied.Set(p.child.ID(), memory.Applied{Digest: p.child.Digest, UID: live.GetUID()})
	p.server.Memory.Confirm(p.child.OwnedID(), memory.Record{
		UID:      live.GetUID(),
		Digest:   p.child.Digest,
		Checksum: p.child.Checksum,
		Version:  live.GetResourceVersion(),
		Content:  content,
		Metadata: p.child.MetadataFingerprint(live),
		Entry:    p.child.FieldsFingerprint(live),
		Handover: p.layers.handoverIn(live),
		Adopted:  p.applier.IsAdopted,
		At:       p.ensurer.clock.Now(),
		Shown:    !p.server.IsCacheBehind && live.GetUID() == p.server.Known.UID && p.server.Known.Shown,
	})
}

// compareWithAnswer reports whether live has the content and the metadata of the last answer of the API
// server, and remembers its version then. So a webhook that changes desired, or even its metadata and digest, costs no
// request.
func (p *pass) compareWithAnswer(live client.Object, known memory.Record) bool {
	if known.Digest != p.child.Digest {
		return false
	}
	isSame := known.Version == live.GetResourceVersion()
	if isSame && known.Handover.Options == p.child.Handover && (known.Entry != "" || !p.child.Kind.IsReset(live)) {
		return true
	}
	content, ok := p.child.Fingerprint(live)
	if !ok || content != known.Content || p.child.MetadataFingerprint(live) != known.Metadata {
		return false
	}
	if ownsOtherFields(&p.child, live, known) || p.layers.isPending(live) {
		return false
	}
	known.Version, known.Handover, known.At = live.GetResourceVersion(), p.layers.handoverIn(live), p.ensurer.clock.Now()
	p.server.Memory.Confirm(p.child.OwnedID(), known)
	return true
}

// ownsOtherFields reports whether this field owner owns other fields of live than at the last answer of the
// API server.
func ownsOtherFields(c *layer.Child, live client.Object, known memory.Record) bool {
	if !managedfields.HasAny(live) {
		return c.Kind.IsReset(live)
	}
	entry := c.FieldsFingerprint(live)
	return entry == "" || known.Entry != "" && entry != known.Entry
}

// causeToWrite returns why an object that is not in sync will be written.
func (p *pass) causeToWrite(live client.Object, isOurs bool) layer.Cause {
	stored, _ := p.child.Operator.Stored(live)
	known, remembered := p.server.Record(live)
	switch {
	case remembered && known.Digest == p.child.Digest:
		return layer.Drifted // also if the stored digest was changed: not by us
	case remembered, stored != "" && stored != p.child.Digest:
		return layer.DesiredChanged
	case stored != "":
		return layer.Drifted
	case !isOurs:
		return layer.Adopted
	case managedfields.HasAny(live) && p.child.Operator.Applied(live) == nil:
		return layer.DesiredChanged // an earlier version of the operator wrote live by an update
	}
	return layer.Drifted
}

// isHalfWithdrawn reports whether this field owner has applied no content of live although desired
// has some: the program ended while it gave live up.
func (p *pass) isHalfWithdrawn(live client.Object) bool {
	own := p.child.Operator.Applied(live)
	if own == nil || managedfields.OwnedBy(own).OwnsBeside("metadata") {
		return false
	}
	content, err := canon.AppendContent(nil, p.child.WithoutIgnored(p.child.Desired))
	return err == nil && string(content) != "{}"
}

// compare reports whether live needs no request: this desired state was applied, and nobody changed a
// field that concerns it since. It remembers such an object.
//
// The effects of defaults and webhooks on desired are known only from answers of the API server. So
// confirmed content is compared by its fingerprint and not with desired. After a restart, no content is
// confirmed. Then live must have all values that desired specifies, and no other manager may have
// written since the last apply: an addition inside an atomic part shows only there. whole is live, or a
// later copy with managed fields.
func (p *pass) compare(live, whole client.Object) bool {
	if known, ok := p.server.Record(live); ok {
		return p.compareWithAnswer(live, known)
	}
	if stored, _ := p.child.Operator.Stored(live); stored != p.child.Digest {
		return false
	}
	isTouched := p.child.Kind.IsReset(live) || p.child.Operator.IsTouched(live)
	if isTouched || !delta.Satisfies(live, p.child.WithoutIgnored(p.child.Desired), p.child.Operator.Owned(live)) {
		return false
	}
	if p.isHalfWithdrawn(live) || p.layers.isPending(whole) {
		return false
	}
	p.confirm(live)
	return true
}
