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
	// readWait limits a read that waits for our own write to reach the cache
	// (EnableReadYourWritesConsistency). A cache whose selector leaves the object out never shows
	// the write.
	readWait = 5 * time.Second
	// hiddenAfter is the lag after which a cache counts as hiding a child.
	hiddenAfter = 2 * time.Minute
)

// read returns the object through the client, usually a cached copy, or nil if there is none.
func (c *child) read(ctx context.Context) (client.Object, error) {
	if err := c.backsOff(); err != nil {
		return nil, err
	}
	bounded := newPatience(ctx, readWait)
	defer bounded.end()
	live, err := c.get(bounded, c.client) //nolint:contextcheck // bounded is made from ctx
	if bounded.ranOut(ctx, err) {
		// The read waited for our own write, or for the first list of an informer, which may go on.
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

// readServer returns the object from the API server, or nil if there is none.
func (c *child) readServer(ctx context.Context) (client.Object, error) {
	if err := c.ask(); err != nil {
		return nil, err
	}
	return c.get(ctx, c.reader)
}

// complete returns live with its managed fields, from the API server if the cache may have stripped
// them.
func (c *child) complete(ctx context.Context, live client.Object) (client.Object, error) {
	if len(live.GetManagedFields()) > 0 {
		return live, nil
	}
	return c.reread(ctx, live)
}

// current returns live with its managed fields, as new as our last answer or newer. From an older copy,
// fields that became ours since would not be given up, and the apply would remove them.
func (c *child) current(ctx context.Context, live client.Object) (client.Object, error) {
	if c.isOutdated(live) {
		return c.reread(ctx, live)
	}
	return c.complete(ctx, live)
}

// reread returns live from the API server.
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

// rereadJSON returns the object with this UID from the API server, with fields that a Go type may not
// have.
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

// checkHidden returns an error for a child of ours that the API server has had for long and that the
// cache still does not show: drift would go unnoticed, and each pass would cost two requests.
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
