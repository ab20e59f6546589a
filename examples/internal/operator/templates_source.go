package operator

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// quiet is the time without changes after which the folder is used.
	quiet = 100 * time.Millisecond
	// pollInterval is how often the folder is looked at without an event: the kernel may
	// have none, of a network file system for example.
	pollInterval = time.Minute
	// mostLooks limits the number of waits at the start, where nothing else runs.
	mostLooks = 50
)

// Source returns a source that reads the folder after a change and then wakes every object of the
// operator's kind. list is an empty list of that kind, and reader the cache of the manager. Pass
// the source to WatchesRawSource of the builder. It follows the folder while the controller runs.
func (t *Templates) Source(reader client.Reader, list client.ObjectList) source.Source {
	return &templatesSource{templates: t, reader: reader, list: list}
}

type templatesSource struct {
	templates *Templates
	reader    client.Reader
	list      client.ObjectList
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// String is in the controller's log.
func (s *templatesSource) String() string { return fmt.Sprintf("templates in %q", s.templates.dir) }

// Start implements source.Source. The controller calls it before its first reconcile.
func (s *templatesSource) Start(ctx context.Context, queue queue) error {
	first := s.templates.atRest(ctx)
	s.templates.current.Store(first)
	if s.templates.dir == "" {
		return nil
	}
	f := &follower{templatesSource: s, queue: queue, taken: first, seen: first}
	f.tell(ctx)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot watch the templates; they are looked at instead", "every", pollInterval)
		go f.follow(ctx, nil, nil)
		return nil
	}
	f.watch = func() {
		for _, dir := range []string{filepath.Dir(s.templates.dir), s.templates.dir} {
			_ = watcher.Add(dir) // the folder may not exist; watched folders stay watched
		}
	}
	f.watch()
	go func() {
		defer watcher.Close() //nolint:errcheck // nothing is written
		f.follow(ctx, watcher.Events, watcher.Errors)
	}()
	return nil
}

// atRest reads the folder until two readings agree: from a half-written folder, children might get
// other names for a moment, and lose their data. A folder that never stops changing is used as it
// is.
func (t *Templates) atRest(ctx context.Context) *overridden {
	now := t.read()
	for range mostLooks {
		if t.dir == "" || ctx.Err() != nil {
			break
		}
		<-time.After(quiet)
		before := now
		if now = t.read(); now.equal(before) {
			break
		}
	}
	return now
}

// A follower reads the folder after changes.
type follower struct {
	*templatesSource

	queue queue
	watch func()      // watches the folder, also a new one; nil if nothing can be watched
	taken *overridden // all objects have been woken for this state
	seen  *overridden // when the folder was last looked at
}

// follow looks at the folder after events, and now and then without one, until ctx ends.
func (f *follower) follow(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	settled := time.After(quiet) // a change may have come before the watch
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-events:
			if f.isAbout(event) && settled == nil {
				settled = time.After(quiet)
			}
		case err := <-errs: // events were lost
			log.FromContext(ctx).V(1).Info("looks at the templates again", "after", err.Error())
			settled = time.After(quiet)
		case <-poll.C:
			settled = time.After(quiet)
		case <-settled:
			settled = nil
			if !f.look(ctx) {
				settled = time.After(quiet)
			}
		}
	}
}

// isAbout reports whether an event is about the folder or its content, and not about a neighbour.
func (f *follower) isAbout(event fsnotify.Event) bool {
	return event.Name == f.templates.dir || filepath.Dir(event.Name) == f.templates.dir
}

// look uses the folder if it has not changed since the last look, but differs from the used state.
// It returns false if the folder needs another look.
func (f *follower) look(ctx context.Context) bool {
	if f.watch != nil {
		f.watch()
	}
	now := f.templates.read()
	if !now.equal(f.seen) {
		f.seen = now
		return false
	}
	if now.equal(f.taken) {
		return true
	}
	f.templates.current.Store(now)
	f.tell(ctx)
	if err := f.wakeAll(ctx); err != nil {
		log.FromContext(ctx).Error(err, "cannot tell whom the templates are for")
		return false
	}
	f.taken = now
	return true
}

// tell logs which files of the folder count.
func (f *follower) tell(ctx context.Context) {
	now := f.templates.current.Load()
	if now.err != nil {
		log.FromContext(ctx).Info("templates cannot be used", "folder", f.templates.dir, "problem", now.err.Error())
		return
	}
	log.FromContext(ctx).Info("took up templates", "folder", f.templates.dir, "overridden", now.names())
}

func (f *follower) wakeAll(ctx context.Context) error {
	list, _ := f.list.DeepCopyObject().(client.ObjectList)
	if err := f.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		obj, err := meta.Accessor(item)
		if err == nil {
			f.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}})
		}
		return err
	})
}
