package ensure

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
)

const (
	// readWait bounds a read that waits for our own write to reach the cache
	// (EnableReadYourWritesConsistency): behind a cache whose selector leaves the
	// object out it never comes.
	readWait = 5 * time.Second
	// hiddenAfter is how long a cache may lag before it counts as not showing a child.
	hiddenAfter = 2 * time.Minute
)

// read returns the object through the client, usually a cached copy; nil if it
// is not there.
func (c *child) read(ctx context.Context) (client.Object, error) {
	if err := c.backsOff(); err != nil {
		return nil, err
	}
	bounded := newPatience(ctx, readWait)
	defer bounded.end()
	live, err := c.get(bounded, c.client) //nolint:contextcheck // it is made from ctx
	if bounded.ranOut(ctx, err) {
		// Waiting for our own write, or for an informer's first list, which is worth it.
		if err := c.endlessWait("read"); err != nil {
			return nil, err
		}
		live, err = c.get(ctx, c.client, client.DisableReadYourWritesConsistency)
	}
	if err != nil {
		c.noteReadFailure(err)
		return nil, err
	}
	c.show(live)
	if live != nil {
		c.memory.NoteShown(c.id())
		c.noteManaged(live)
	}
	return live, err
}

// readServer returns the object as the API server has it now; nil if it is gone.
func (c *child) readServer(ctx context.Context) (client.Object, error) {
	if err := c.ask(); err != nil {
		return nil, err
	}
	return c.get(ctx, c.reader)
}

// complete returns live with its managed fields: from the server, if the cache may have
// stripped them.
func (c *child) complete(ctx context.Context, live client.Object) (client.Object, error) {
	if len(live.GetManagedFields()) > 0 {
		return live, nil
	}
	return c.reread(ctx, live)
}

// current is as complete, and no copy from before our own last answer: what became ours with
// that would not be given up, and the apply would remove it.
func (c *child) current(ctx context.Context, live client.Object) (client.Object, error) {
	if c.isOutdated(live) {
		return c.reread(ctx, live)
	}
	return c.complete(ctx, live)
}

// reread returns live as the server has it.
func (c *child) reread(ctx context.Context, live client.Object) (client.Object, error) {
	complete, err := c.readServer(ctx)
	if err != nil {
		return nil, err
	}
	if complete == nil || complete.GetUID() != live.GetUID() {
		return nil, c.conflict("read", "the cache is behind", nil)
	}
	return complete, nil
}

// rereadJSON returns the object with this UID as the server has it, which may be more than a Go
// type knows.
func (c *child) rereadJSON(ctx context.Context, operation string, uid types.UID) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(c.gvk)
	if err := c.ask(); err != nil {
		return nil, err
	}
	switch err := c.reader.Get(ctx, c.key, live); {
	case answer.IsGone(err) || err == nil && live.GetUID() != uid:
		return nil, c.conflict(operation, "it was replaced meanwhile", err)
	case err != nil:
		return nil, c.requestError("read", err)
	}
	return live, nil
}

func (c *child) get(ctx context.Context, from client.Reader, opts ...client.GetOption) (client.Object, error) {
	live := c.empty(c.desired)
	switch err := from.Get(ctx, c.key, live, opts...); {
	case err == nil:
		c.seen = live
		return live, nil
	case answer.IsGone(err):
		return nil, nil
	default:
		return nil, c.requestError("read", err)
	}
}

// checkHidden gives up on a child of ours that the server has had for long and that
// the cache still does not show: drift would go unnoticed, and every pass would cost
// two requests.
func (c *child) checkHidden(live client.Object) error {
	if !c.unseen {
		return nil
	}
	now := c.clock.Now()
	if now.Sub(c.memory.HiddenSince(c.id(), live.GetUID(), now)) < hiddenAfter {
		return nil
	}
	return c.fail(ErrHidden, "ensure", "it exists, but the operator's cache has not shown it for "+hiddenAfter.String()+
		": it lacks a label, or is in a namespace, by which the cache selects, or the watch has stopped, "+
		"which a restart of the operator mends")
}
