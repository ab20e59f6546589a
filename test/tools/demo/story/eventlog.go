package story

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An eventLog records changes of objects at the moment of their observation. Polling would miss states
// that last for milliseconds only.
type eventLog struct {
	mu      sync.Mutex
	entries []loggedEvent
}

// loggedEvent is one event of one object.
type loggedEvent struct {
	at     time.Time
	event  watch.EventType
	object client.Object
}

// watch notes every event of a kind in a namespace until ctx ends, beginning with
// the objects that are there.
func (l *eventLog) watch(ctx context.Context, c client.WithWatch, namespace string, kind client.ObjectList) error {
	events, err := c.Watch(ctx, kind, client.InNamespace(namespace))
	if err != nil {
		return fmt.Errorf("cannot watch: %w", err)
	}
	context.AfterFunc(ctx, events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if object, ok := event.Object.(client.Object); ok {
				l.note(loggedEvent{at: time.Now(), event: event.Type, object: object})
			}
		}
	}()
	return nil
}

func (l *eventLog) note(p loggedEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, p)
}

// since returns the entries after the first n pages.
func (l *eventLog) since(n int) []loggedEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[n:])
}

func (l *eventLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// find returns the index of the first page that is about an object of type T with
// this name and is accepted; -1 if there is none.
func find[T client.Object](pages []loggedEvent, name string, accept func(watch.EventType, T) bool) int {
	return slices.IndexFunc(pages, func(p loggedEvent) bool {
		object, ok := p.object.(T)
		return ok && object.GetName() == name && accept(p.event, object)
	})
}

// last returns the index of the page about the last accepted change of an object of type T, in the
// order of the server, or -1 if there is none.
func last[T client.Object](pages []loggedEvent, accept func(watch.EventType, T) bool) int {
	latest := -1
	for i, page := range pages {
		object, ok := page.object.(T)
		if ok && accept(page.event, object) && (latest < 0 || isBefore(pages[latest], page)) {
			latest = i
		}
	}
	return latest
}

// isBefore reports whether the server did one before the other, of whatever kinds they are.
func isBefore(one, other loggedEvent) bool {
	order, err := resourceversion.CompareResourceVersion(one.object.GetResourceVersion(), other.object.GetResourceVersion())
	return err == nil && order < 0
}
