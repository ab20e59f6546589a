// Package repair makes an apply possible that the API server refuses because of fields that others left in the live object: it
// finds by dry runs which fields have to go, and has the next apply remove these.
package repair

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// Apply applies desired to live, as a rule in one request, which the server may find to be nothing. It carries
// live's UID: without it an apply based on a stale read would bring a deleted object back. Fields that others left in
// live can make the merge invalid although desired is valid: an edited Service port stays beside ours and has the same
// name. Then the conflicting fields are taken over, and the next apply removes them. Unless live drifted, lists that
// desired has empty are empty afterwards.
func Apply(ctx context.Context, a *server.Applier, live client.Object, cause layer.Cause) (server.Application, error) {
	applied, err := a.Apply(ctx, live.GetUID())
	if fault.IsUnconvertible(err) {
		if a.Server.Child.DryRun { // which stores no managed fields that a second apply could build on
			return Rehearse(ctx, a, live, err)
		}
		if live, err = a.MakeConvertible(ctx, live, err); err != nil {
			return server.Application{}, err
		}
		applied, err = a.Apply(ctx, live.GetUID())
	}
	before := live
	if err != nil && fault.NamesFieldsOnly(err) {
		r, notSeen := start(ctx, a, live, err)
		if notSeen != nil {
			return server.Application{}, notSeen
		}
		if r.live.GetResourceVersion() != live.GetResourceVersion() {
			// The refusal may be over: another process repaired the object at the same time.
			before = r.child.Typed(r.live)
			applied, err = a.Apply(ctx, live.GetUID())
		}
		if fault.NamesFieldsOnly(err) {
			r.refusal = err
			return r.run(ctx)
		}
	}
	if err != nil {
		return server.Application{}, err
	}
	done, err := removeSources(ctx, a, server.Application{Before: before, After: applied})
	if err != nil || cause == layer.Drifted {
		return done, err
	}
	return restoreEmpty(ctx, a, done)
}

// Rehearse tries the apply of desired to live by a dry run, as if the managed fields had been changed before. refusal is that of an
// apply if fault.IsUnconvertible, or nil; it stands if no entry of the managed fields could be rewritten.
func Rehearse(ctx context.Context, a *server.Applier, live client.Object, refusal error) (server.Application, error) {
	dry := a.Dry()
	defer a.Count(dry)
	r, err := start(ctx, dry, live, refusal)
	if err != nil {
		return server.Application{}, err
	}
	if refusal != nil && !managedfields.HasOtherVersions(r.live, r.child.Kind.APIVersion) {
		return server.Application{}, refusal
	}
	tried, err := r.rehearse(ctx, nil)
	if !fault.NamesFieldsOnly(err) {
		return tried, err
	}
	r.refusal = err
	return r.run(ctx)
}

// NoteRemoved adds the removed obstacles and their managers to changes.
func NoteRemoved(changes []layer.Change, removed []obstacle.Obstacle) []layer.Change {
	for _, o := range removed {
		text, noted := managedfields.Text(o.Path), false
		steps := paths.Steps(text)
		for i := range changes {
			at := paths.Steps(changes[i].Path)
			if n := min(len(at), len(steps)); slices.Equal(at[:n], steps[:n]) {
				changes[i].Manager, noted = appendManagers(changes[i].Manager, o.Managers), true
			}
		}
		if !noted {
			changes = append(changes, layer.Change{Path: text, Manager: appendManagers("", o.Managers)})
		}
	}
	return changes
}

// appendManagers appends managers to a list with commas, each once.
func appendManagers(list string, managers []string) string {
	var all []string
	if list != "" {
		all = strings.Split(list, ", ")
	}
	for _, manager := range managers {
		all = layer.AppendNew(all, manager)
	}
	return strings.Join(all, ", ")
}
