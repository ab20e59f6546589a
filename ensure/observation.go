package ensure

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
)

const (
	// hiddenAfter is the lag after which a cache counts as hiding a child.
	hiddenAfter = 2 * time.Minute
)

// An observation is what a pass knows about the live object: the copy that was read, the last answer of
// the API server, and whose the object is.
type observation struct {
	ownership

	last               memory.Record // the last answer of the API server that was known when live was read
	isMissingFromCache bool          // the cache did not show the object
	ours               bool          // live may be written without ensure.Adopt
}

// read returns the object through the client, usually a cached copy, or nil if there is none.
func (o *observation) read(ctx context.Context) (client.Object, error) {
	live, err := o.server.Read(ctx)
	if err != nil {
		return nil, err
	}
	o.backoff.Begin(live)
	if live != nil {
		o.memory.NoteShown(o.ID())
		o.Kind.NoteManaged(live)
	}
	return live, err
}

// complete returns live with its managed fields, from the API server if the cache may have stripped
// them.
func (o *observation) complete(ctx context.Context, live client.Object) (client.Object, error) {
	if managedfields.HasAny(live) {
		return live, nil
	}
	return o.server.Reread(ctx, live)
}

// current returns live with its managed fields, as new as our last answer or newer. From an older copy,
// fields that became ours since would not be given up, and the apply would remove them.
func (o *observation) current(ctx context.Context, live client.Object) (client.Object, error) {
	if o.isOutdated(live) {
		return o.server.Reread(ctx, live)
	}
	return o.complete(ctx, live)
}

// isHidden reports whether the API server has had a child of ours for long that the cache still does not
// show: drift would go unnoticed, and each pass would cost two requests.
func (o *observation) isHidden(live client.Object) bool {
	if !o.isMissingFromCache {
		return false
	}
	now := o.clock.Now()
	return now.Sub(o.memory.NoteHidden(o.ID(), live.GetUID(), now)) >= hiddenAfter
}

var whyHidden = "it exists, but the operator's cache has not shown it for " + hiddenAfter.String() +
	": it lacks a label by which the cache selects, is in a namespace that the cache leaves out, or the watch has stopped, " +
	"which a restart of the operator corrects"

// loadRecord looks up the last confirmed state. Without one, o.last is empty.
func (o *observation) loadRecord() { o.last = o.memory.Record(o.OwnedID()) }

// record returns the record of live, and whether there is one.
func (o *observation) record(live client.Object) (memory.Record, bool) {
	return o.last, o.last.Digest != "" && o.last.UID == live.GetUID()
}

// noteShown remembers that the cache has shown live. If the cache shows the object no longer, the
// object was deleted.
func (o *observation) noteShown(live client.Object) {
	if known, ok := o.record(live); ok && !known.Shown && !o.isMissingFromCache {
		o.last.Shown = true
		o.memory.Confirm(o.OwnedID(), o.last)
	}
}

// isExpected reports whether the cache should show the child soon: this Ensurer created or changed the
// child lately, and the cache has not shown it since.
func (o *observation) isExpected() bool {
	o.loadRecord()
	return o.last.UID != "" && !o.last.Shown && o.clock.Now().Sub(o.last.At) < memory.MaxLag
}

// isStale reports whether live is a cached copy that is older than the last answer of the API server to
// this desired state, or a copy of an object that existed before. Differences are no drift then.
func (o *observation) isStale(live client.Object) bool {
	return o.last.Digest == o.Digest && o.last.IsNewerThan(live.GetResourceVersion()) && o.clock.Now().Sub(o.last.At) < memory.MaxLag
}

// isOutdated reports whether live is older than our own last write.
func (o *observation) isOutdated(live client.Object) bool {
	known, ok := o.record(live)
	return ok && known.IsNewerThan(live.GetResourceVersion())
}

// confirm remembers that live is the answer of the API server to desired.
func (o *observation) confirm(live client.Object) {
	content, ok := o.fingerprint(live)
	if !ok || o.dryRun { // nothing was stored
		return
	}
	o.memory.Applied.Set(o.ID(), memory.Applied{Digest: o.Digest, UID: live.GetUID(), Owner: o.controllerName()})
	o.memory.Confirm(o.OwnedID(), memory.Record{
		UID:      live.GetUID(),
		Digest:   o.Digest,
		Checksum: o.checksum,
		Version:  live.GetResourceVersion(),
		Content:  content,
		Metadata: o.metadataFingerprint(live),
		Entry:    o.fieldsFingerprint(live),
		Handover: o.handover(),
		Retired:  o.retiredIn(live),
		Adopted:  o.adopted,
		At:       o.clock.Now(),
		Shown:    !o.isMissingFromCache && live.GetUID() == o.last.UID && o.last.Shown,
	})
}

// isConfirmed reports whether live has the content and the metadata of the last answer of the API
// server. So a webhook that changes desired, or even its metadata and digest, costs no request.
func (o *observation) isConfirmed(live client.Object, known memory.Record) bool {
	if known.Digest != o.Digest {
		return false
	}
	isSame := known.UID != "" && known.Version == live.GetResourceVersion() // without UIDs, on the fake client, versions come again
	if isSame && known.Handover == o.handover() && (known.Entry != "" || !o.Kind.IsReset(live)) {
		return true
	}
	content, ok := o.fingerprint(live)
	if !ok || content != known.Content || o.metadataFingerprint(live) != known.Metadata {
		return false
	}
	if o.isDisowned(live, known) || o.isMigrationPending(live) {
		return false
	}
	known.Version, known.Handover, known.Retired, known.At = live.GetResourceVersion(), o.handover(), o.retiredIn(live), o.clock.Now()
	o.memory.Confirm(o.OwnedID(), known)
	return true
}

// isDisowned reports whether this field owner owns other fields of live than at the last answer of the
// API server.
func (o *observation) isDisowned(live client.Object, known memory.Record) bool {
	if !managedfields.HasAny(live) {
		return o.Kind.IsReset(live)
	}
	entry := o.fieldsFingerprint(live)
	return entry == "" || known.Entry != "" && entry != known.Entry
}

// metadataFingerprint returns a fingerprint of the metadata of live that desired specifies, and of its
// digest. Labels, annotations, owners and finalizers of others do not count.
func (o *observation) metadataFingerprint(live client.Object) string {
	var found digestInput
	found.add(o.Operator.Store.Get(live))
	found.addKeys(o.Desired.GetLabels(), live.GetLabels())
	found.addKeys(o.Desired.GetAnnotations(), live.GetAnnotations())
	owners := live.GetOwnerReferences()
	for _, wanted := range o.Desired.GetOwnerReferences() {
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
	for _, finalizer := range o.Desired.GetFinalizers() {
		found.addBool(slices.Contains(finalizers, finalizer))
	}
	return contentSum(found)
}

// causeToWrite returns why an object that is not in sync will be written.
func (o *observation) causeToWrite(live client.Object) layer.Cause {
	stored, _ := o.Operator.Stored(live)
	known, remembered := o.record(live)
	switch {
	case remembered && known.Digest == o.Digest:
		return layer.Drifted // also if the stored digest was changed: not by us
	case remembered, stored != "" && stored != o.Digest:
		return layer.DesiredChanged
	case stored != "":
		return layer.Drifted
	case !o.ours:
		return layer.Adopted
	case managedfields.HasAny(live) && o.Operator.Applied(live) == nil:
		return layer.DesiredChanged // an earlier version of the operator wrote live by an update
	}
	return layer.Drifted
}

// A provenance says to whom an object belongs.
type provenance struct {
	ours    bool          // to write
	adopted bool          // by us: somebody else created live
	live    client.Object // with its managed fields, if they had to be known
}

// provenanceOf finds out whether live is ours: the wanted owner controls live, or nobody does, and
// something shows that this field owner wrote to live. Our digest says whether we created live. Without
// a digest, an object that only an entry of ours or a remembered UID shows to be ours counts as adopted.
func (o *observation) provenanceOf(ctx context.Context, live client.Object) (provenance, error) {
	controller := metav1.GetControllerOfNoCopy(live)
	digest, adopted := o.Operator.Find(live)
	switch {
	case controller != nil && !o.isWanted(controller):
		return provenance{live: live}, nil
	case digest != "":
		return provenance{ours: true, adopted: adopted || o.isCopy(live, digest), live: live}, nil
	case o.isRemembered(live) && !(o.last.Adopted && managedfields.IsDisowned(live, o.Operator.FieldOwner)):
		return provenance{ours: true, adopted: o.last.Adopted || o.mayBeReleased(live), live: live}, nil
	case controller == nil && o.isFromFormerOwner(live):
		return provenance{ours: true, adopted: true, live: live}, nil
	}
	live, err := o.complete(ctx, live)
	if err != nil {
		return provenance{}, err
	}
	if o.Operator.Applied(live) != nil {
		return provenance{ours: true, adopted: true, live: live}, nil
	}
	if controller == nil {
		return provenance{live: live}, nil
	}
	return provenance{
		ours:    len(o.appliersOf(live, controller)) == 0,
		adopted: !o.isMadeForOwner(live, controller),
		live:    live,
	}, nil
}

// isRemembered also covers a kubectl replace, which leaves neither digest nor owner
// nor managed fields of ours.
func (o *observation) isRemembered(live client.Object) bool {
	known, ok := o.record(live)
	return ok && known.UID != ""
}

// mayBeReleased reports whether another instance may have released live, which has no digest. Nobody
// releases an object by emptying all managed fields.
func (o *observation) mayBeReleased(live client.Object) bool {
	return metav1.GetControllerOfNoCopy(live) == nil && o.Operator.Applied(live) == nil && !o.Kind.IsReset(live)
}

// isCopy reports whether somebody created live from a child of ours, including the digest: this field
// owner has applied no field of live.
func (o *observation) isCopy(live client.Object, digest string) bool {
	if digest == o.Digest || o.isRemembered(live) {
		return false
	}
	names := o.Operator.Names()
	return !slices.ContainsFunc(names, func(name string) bool { return !managedfields.IsDisowned(live, name) })
}

// isMadeByUs reports whether we made live for an owner that is not the one that is wanted.
func (o *observation) isMadeByUs(ctx context.Context, live client.Object) (bool, error) {
	digest, adopted := o.Operator.Find(live)
	if digest == "" || adopted {
		return false, nil
	}
	if known, ok := o.record(live); ok {
		return !known.Adopted, nil
	}
	complete, err := o.complete(ctx, live)
	return err == nil && o.Operator.Applied(complete) != nil, err
}

// isMadeForOwner reports whether the managed fields show that an earlier version of the operator
// created live for its controller: an update set the reference, or a program that MigrateFrom names
// did. With Adopt, only such a program counts, as somebody else may have created live.
func (o *observation) isMadeForOwner(live client.Object, controller *metav1.OwnerReference) bool {
	return slices.ContainsFunc(managedfields.Entries(live), func(entry metav1.ManagedFieldsEntry) bool {
		isUpdate := entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Manager != migrate.BeforeFirstApply
		isNamed := slices.Contains(o.migrateFrom, entry.Manager) || slices.Contains(o.Operator.Former, entry.Manager)
		return (isNamed || isUpdate && !o.adopt) && ownsReference(&entry, controller)
	})
}

// isFromFormerOwner reports whether this Ensurer last applied live for an owner of the same kind and
// name, which was deleted and created again after somebody had replaced live without a trace.
func (o *observation) isFromFormerOwner(live client.Object) bool {
	latest, _ := o.memory.Applied.Get(o.ID())
	return o.call == callEnsure && latest.UID != "" && latest.UID == live.GetUID() &&
		latest.Owner != "" && latest.Owner == o.controllerName()
}

// mayAdopt reports whether a foreign object may be taken over.
func (o *observation) mayAdopt(live client.Object) bool {
	if !o.adopt {
		return false
	}
	// Two controllers are refused by the server.
	controller := metav1.GetControllerOfNoCopy(live)
	return o.Controller == nil || controller == nil || o.isWanted(controller)
}

// isReleaseUnfinished reports whether this field owner has applied no content of live although desired
// has some: the program ended while it gave live up.
func (o *observation) isReleaseUnfinished(live client.Object) bool {
	own := o.Operator.Applied(live)
	if own == nil || managedfields.OwnedBy(own).OwnsBeside("metadata") {
		return false
	}
	content, err := canon.AppendContent(nil, o.WithoutIgnored(o.Desired))
	return err == nil && string(content) != "{}"
}
