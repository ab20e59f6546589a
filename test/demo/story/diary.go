package story

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// diary notes what happens to objects at the moment it is seen. Asking now and then
// would miss what lasts for milliseconds only.
type diary struct {
	mu    sync.Mutex
	pages []page
}

// page is one event of one object.
type page struct {
	at     time.Time
	event  watch.EventType
	object client.Object
}

// watch notes every event of a kind in a namespace until ctx ends, beginning with
// the objects that are there.
func (d *diary) watch(ctx context.Context, c client.WithWatch, namespace string, kind client.ObjectList) error {
	events, err := c.Watch(ctx, kind, client.InNamespace(namespace))
	if err != nil {
		return fmt.Errorf("cannot watch: %w", err)
	}
	context.AfterFunc(ctx, events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if object, ok := event.Object.(client.Object); ok {
				d.note(page{at: time.Now(), event: event.Type, object: object})
			}
		}
	}()
	return nil
}

func (d *diary) note(p page) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pages = append(d.pages, p)
}

// since is what was noted after the first n pages.
func (d *diary) since(n int) []page {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.pages[n:])
}

func (d *diary) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pages)
}

// find returns the index of the first page that is about an object of type T with
// this name and is accepted; -1 if there is none.
func find[T client.Object](pages []page, name string, accept func(watch.EventType, T) bool) int {
	return slices.IndexFunc(pages, func(p page) bool {
		object, ok := p.object.(T)
		return ok && object.GetName() == name && accept(p.event, object)
	})
}

// ends is find from the end, and of any name if that is empty.
func ends[T client.Object](pages []page, name string, accept func(watch.EventType, T) bool) int {
	for i, page := range slices.Backward(pages) {
		if object, ok := page.object.(T); ok && (name == "" || object.GetName() == name) && accept(page.event, object) {
			return i
		}
	}
	return -1
}
