package ensure

import (
	"context"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// takeOverAttempts bounds the tries beside others who write at the same time.
const takeOverAttempts = 5

// A takeover is a note about the fields that a repair has taken over for the apply of a desired state.
// The note follows the stored digest until that apply overwrites both. Without the note, a process that
// wants another desired state could not tell these fields from those that desired drops, and its apply
// would remove them. A digest in a label has no room for a note.
type takeover struct {
	digest string // of the desired state
	fields *fieldpath.Set
}

const (
	takeoverMark    = " taken over for "
	longestTakeover = 16 << 10 // bytes of a note; an object has 256 KiB for annotations
)

// noteTakeover returns the operations that write the note.
func (r *repair) noteTakeover(taken *fieldpath.Set) []jsonpatch.Operation {
	fields, err := taken.ToJSON()
	stored, _, _ := strings.Cut(r.store.Get(r.live), takeoverMark)
	note := stored + takeoverMark + r.digest + " " + string(fields)
	noted := &metav1.ObjectMeta{Annotations: r.live.GetAnnotations(), Labels: r.live.GetLabels()}
	if err != nil || len(note) > longestTakeover || r.store.Set(noted, note) != nil || !maps.Equal(noted.Labels, r.live.GetLabels()) {
		return nil
	}
	if len(r.live.GetAnnotations()) == 0 {
		return []jsonpatch.Operation{jsonpatch.Add("/metadata/annotations", noted.Annotations)}
	}
	var operations []jsonpatch.Operation
	for key, value := range noted.Annotations {
		if r.live.GetAnnotations()[key] != value {
			operations = append(operations, jsonpatch.Add(jsonpatch.Join("/metadata/annotations", key), value))
		}
	}
	return operations
}

// takeOver makes this field owner's applies the only owner of the obstacles, so that the next apply
// removes them. It writes managed fields and a note only, and only while the obstacles have not changed
// since the trials. The returned object does not have the note.
func (r *repair) takeOver(ctx context.Context, obstacles []obstacle.Obstacle) (client.Object, error) {
	for range takeOverAttempts {
		taken, err := r.patchJSON(ctx, "repair", r.takeOverPatch(obstacles))
		if err == nil {
			err = r.store.Set(taken, r.store.Get(r.live))
		}
		if err == nil || !hasMoved(err) {
			return taken, err
		}
		if err := r.observe(ctx, r.live.GetUID()); err != nil {
			return nil, err
		}
		again, ok := r.merge.Again(obstacles)
		if !ok {
			break
		}
		obstacles = again
	}
	return nil, r.conflict("repair", "it was changed meanwhile", nil)
}

func (r *repair) takeOverPatch(obstacles []obstacle.Obstacle) []jsonpatch.Operation {
	p := managedfields.NewPatch(r.live)
	for _, o := range obstacles {
		p.Test(o.Pointer, o.Value)
	}
	updates := managedfields.Updates(r.live)
	taken := p.Strike(updates, isIn(obstacles))
	for _, o := range obstacles {
		taken.Insert(o.Path)
	}
	entries := r.live.GetManagedFields()
	own := managedfields.Find(r.live, r.fieldOwner, metav1.ManagedFieldsOperationApply)
	entry := r.ownEntry(entries, own, updates)
	entry = managedfields.WithFields(entry, managedfields.Fields(&entry).Union(taken))
	if own < 0 {
		p.Add(entry)
	} else {
		p.Replace(own, entry)
	}
	return append(p.Operations(), r.noteTakeover(taken)...)
}

func isIn(obstacles []obstacle.Obstacle) func(fieldpath.Path) bool {
	return func(path fieldpath.Path) bool {
		return slices.ContainsFunc(obstacles, func(o obstacle.Obstacle) bool { return o.Contains(path) })
	}
}

// giveBack reverts takeOver after a failed apply. If giveBack fails, too, the fields stay until an
// apply succeeds, which removes them.
func (r *repair) giveBack(ctx context.Context, taken client.Object, obstacles []obstacle.Obstacle) {
	_, _ = r.patchEntries(ctx, "repair", taken, func(p *managedfields.Patch, taken client.Object) {
		if r.strike(p, taken, metav1.ManagedFieldsOperationApply, isIn(obstacles)).Empty() {
			return // the apply succeeded, although the answer was lost
		}
		r.strike(p, taken, metav1.ManagedFieldsOperationUpdate, r.isOfDigest) // the next apply overwrites the note
		for _, at := range managedfields.Updates(r.live) {
			r.restore(p, r.live.GetManagedFields()[at], obstacles)
		}
	})
}

// restore gives the obstacles that an entry owned before back to that entry.
func (r *repair) restore(p *managedfields.Patch, before metav1.ManagedFieldsEntry, obstacles []obstacle.Obstacle) {
	theirs, _ := managedfields.Split(managedfields.Fields(&before), isIn(obstacles))
	if theirs.Empty() {
		return
	}
	p.Give(managedfields.WithFields(before, theirs))
}

// disown makes fields nobody's that our apply owns. If others write all the time they stay ours
// until the next apply.
func (r *repair) disown(ctx context.Context, applied client.Object, fields *fieldpath.Set) (client.Object, error) {
	disowned, err := r.patchEntries(ctx, "repair", applied, func(p *managedfields.Patch, applied client.Object) {
		r.strike(p, applied, metav1.ManagedFieldsOperationApply, fields.Has)
	})
	if hasMoved(err) {
		return applied, nil
	}
	return disowned, err
}
