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
	// settleTime is the time without changes after which the folder is used.
	settleTime = 100 * time.Millisecond
	// pollInterval is how often the folder is read without an event. Some file systems, such as NFS,
	// report no events.
	pollInterval = time.Minute
	// maxReads limits how often the folder is read again at the start, which delays the controller.
	maxReads = 50
)

// Source returns a source that reads the folder after a change and then enqueues every object of the
// operator's kind. list is an empty list of that kind, and reader is the cache of the manager. Pass the
// source to WatchesRawSource of the builder.
func (t *Templates) Source(reader client.Reader, list client.ObjectList) source.Source {
	return &templatesSource{templates: t, reader: reader, list: list}
}

type templatesSource struct {
	templates *Templates
	reader    client.Reader
	list      client.ObjectList
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// String returns the name of the source in the controller's log.
func (s *templatesSource) String() string { return fmt.Sprintf("templates in %q", s.templates.dir) }

// Start implements source.Source. The controller calls it before its first reconcile.
func (s *templatesSource) Start(ctx context.Context, queue queue) error {
	first := s.templates.readStable(ctx)
	s.templates.current.Store(first)
	if s.templates.dir == "" {
		return nil
	}
	f := &follower{templatesSource: s, queue: queue, enqueued: first, lastRead: first}
	f.logFiles(ctx)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot watch the templates folder, polling it instead", "interval", pollInterval)
		go f.follow(ctx, nil, nil)
		return nil
	}
	f.watch = func() {
		for _, dir := range []string{filepath.Dir(s.templates.dir), s.templates.dir} {
			_ = watcher.Add(dir) // fails if the folder does not exist; adding a watched folder has no effect
		}
	}
	f.watch()
	go func() {
		defer watcher.Close() //nolint:errcheck // nothing is written
		f.follow(ctx, watcher.Events, watcher.Errors)
	}()
	return nil
}

// readStable reads the folder until two successive reads return the same files. From a half-written
// folder, children might get other names for a moment, and lose their data. If the folder does not
// stop changing, readStable returns the last read.
func (t *Templates) readStable(ctx context.Context) *snapshot {
	current := t.read()
	for range maxReads {
		if t.dir == "" || ctx.Err() != nil {
			break
		}
		<-time.After(settleTime)
		before := current
		if current = t.read(); current.equal(before) {
			break
		}
	}
	return current
}

// A follower reads the folder after changes.
type follower struct {
	*templatesSource

	queue    queue
	watch    func()    // watches the folder, if it exists now; nil if folders cannot be watched
	enqueued *snapshot // all objects were enqueued for this snapshot
	lastRead *snapshot // result of the last read
}

// follow reads the folder after events and at intervals, until ctx is cancelled.
func (f *follower) follow(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	settled := time.After(settleTime) // the folder may have changed before it was watched
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-events:
			if f.concerns(event) && settled == nil {
				settled = time.After(settleTime)
			}
		case err := <-errs: // events were lost
			log.FromContext(ctx).V(1).Info("reading the templates again", "cause", err.Error())
			settled = time.After(settleTime)
		case <-poll.C:
			settled = time.After(settleTime)
		case <-settled:
			settled = nil
			if !f.check(ctx) {
				settled = time.After(settleTime)
			}
		}
	}
}

// concerns reports whether an event is about the folder or its content. The parent folder is watched, too.
func (f *follower) concerns(event fsnotify.Event) bool {
	return event.Name == f.templates.dir || filepath.Dir(event.Name) == f.templates.dir
}

// check uses the folder if it has not changed since the last read, but differs from the templates in
// use. It returns false if the folder has to be read again.
func (f *follower) check(ctx context.Context) bool {
	if f.watch != nil {
		f.watch()
	}
	current := f.templates.read()
	if !current.equal(f.lastRead) {
		f.lastRead = current
		return false
	}
	if current.equal(f.enqueued) {
		return true
	}
	f.templates.current.Store(current)
	f.logFiles(ctx)
	if err := f.enqueueAll(ctx); err != nil {
		log.FromContext(ctx).Error(err, "cannot enqueue the objects that use the templates")
		return false
	}
	f.enqueued = current
	return true
}

// logFiles logs which files override built-in templates.
func (f *follower) logFiles(ctx context.Context) {
	current := f.templates.current.Load()
	if current.err != nil {
		log.FromContext(ctx).Info("cannot use the templates", "folder", f.templates.dir, "problem", current.err.Error())
		return
	}
	log.FromContext(ctx).Info("loaded templates", "folder", f.templates.dir, "overridden", current.names())
}

func (f *follower) enqueueAll(ctx context.Context) error {
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
