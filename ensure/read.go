package ensure

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// readWait limits a read that waits for our own write to reach the cache
	// (EnableReadYourWritesConsistency). A cache whose selector leaves the object out never shows
	// the write.
	readWait = 5 * time.Second
	// hiddenAfter is the lag after which a cache counts as hiding a child.
	hiddenAfter = 2 * time.Minute
)

// read returns the object through the client, usually a cached copy, or nil if there is none.
func (o *observation) read(ctx context.Context) (client.Object, error) {
	if err := o.backsOff(); err != nil {
		return nil, err
	}
	bounded := newPatience(ctx, readWait)
	defer bounded.end()
	live, err := o.get(bounded, o.client) //nolint:contextcheck // bounded is made from ctx
	if bounded.ranOut(ctx, err) {
		// The read waited for our own write, or for the first list of an informer, which may go on.
		if err := o.endlessWait("read"); err != nil {
			return nil, err
		}
		live, err = o.get(ctx, o.client, client.DisableReadYourWritesConsistency)
	}
	if err != nil {
		o.noteReadFailure(err)
		return nil, err
	}
	o.show(live)
	if live != nil {
		o.memory.NoteShown(o.id())
		o.noteManaged(live)
	}
	return live, err
}

// complete returns live with its managed fields, from the API server if the cache may have stripped
// them.
func (o *observation) complete(ctx context.Context, live client.Object) (client.Object, error) {
	if len(live.GetManagedFields()) > 0 {
		return live, nil
	}
	return o.reread(ctx, live)
}

// current returns live with its managed fields, as new as our last answer or newer. From an older copy,
// fields that became ours since would not be given up, and the apply would remove them.
func (o *observation) current(ctx context.Context, live client.Object) (client.Object, error) {
	if o.isOutdated(live) {
		return o.reread(ctx, live)
	}
	return o.complete(ctx, live)
}

// checkHidden returns an error for a child of ours that the API server has had for long and that the
// cache still does not show: drift would go unnoticed, and each pass would cost two requests.
func (o *observation) checkHidden(live client.Object) error {
	if !o.unseen {
		return nil
	}
	now := o.clock.Now()
	if now.Sub(o.memory.HiddenSince(o.id(), live.GetUID(), now)) < hiddenAfter {
		return nil
	}
	return o.fail(ErrHidden, "ensure", "it exists, but the operator's cache has not shown it for "+hiddenAfter.String()+
		": it lacks a label, or is in a namespace, by which the cache selects, or the watch has stopped, "+
		"which a restart of the operator mends")
}
