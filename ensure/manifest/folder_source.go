package manifest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
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
	// maxLooks limits how often the folder is read at the start, which delays the controller.
	maxLooks = 50
)

// Source returns a source that reads the folder after a change, once the folder stops changing, and
// then enqueues every object of one kind. list is an empty list of that kind, and reader is the cache
// of the manager. Pass the source to WatchesRawSource of the builder. Controllers of several kinds can
// use the same Folder, each with its own source.
func (f *Folder) Source(reader client.Reader, list client.ObjectList) source.Source {
	if f == nil {
		f = &Folder{} // Start returns an error
	}
	return &folderSource{folder: f, reader: reader, list: list, newWatcher: fsnotify.NewWatcher}
}

type folderSource struct {
	folder     *Folder
	reader     client.Reader
	list       client.ObjectList
	newWatcher func() (*fsnotify.Watcher, error)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// String returns the name of the source in the controller's log.
func (s *folderSource) String() string { return fmt.Sprintf("manifests in %q", s.folder.dir) }

// Start implements source.Source. The controller calls it before its first reconcile.
func (s *folderSource) Start(ctx context.Context, queue queue) error {
	if s.folder.Renderer() == nil || s.reader == nil || s.list == nil {
		return errors.New("manifest.NewFolder or Folder.Source was given nil")
	}
	if s.folder.dir == "" {
		return nil
	}
	f := &follower{folderSource: s, queue: queue, lastLook: s.folder.look()}
	f.waitUntilStable(ctx)
	f.use(ctx)
	f.enqueued = f.lastLook
	watcher, err := s.newWatcher()
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot watch the folder with manifests, polling it instead", "interval", pollInterval)
		go f.follow(ctx, nil, nil)
		return nil
	}
	f.watch = watcher.Add
	go func() {
		defer watcher.Close() //nolint:errcheck // nothing is written
		f.follow(ctx, watcher.Events, watcher.Errors)
	}()
	return nil
}

// A follower reads the folder after changes.
type follower struct {
	*folderSource

	queue    queue
	watch    func(dir string) error // nil if folders cannot be watched
	lastLook *snapshot
	enqueued *snapshot // all objects were enqueued for this snapshot
}

// waitUntilStable looks at the folder until two looks in a row see the same files. From a half-written
// folder, children might get other names for a moment, and lose their data. So a folder that does not
// stop changing cannot be used.
func (f *follower) waitUntilStable(ctx context.Context) {
	for range maxLooks {
		<-clock.RealClock{}.After(settleTime)
		if ctx.Err() != nil || f.isStable() {
			return
		}
	}
	f.lastLook = f.folder.without(errRestless)
}

// isStable looks at the folder, and reports whether nothing has changed since the last look.
func (f *follower) isStable() bool {
	before := f.lastLook
	f.lastLook = f.folder.look()
	return f.lastLook.stoodStillSince(before)
}

// use makes the last look the current snapshot, unless the folder cannot be used.
func (f *follower) use(ctx context.Context) {
	logger := log.FromContext(ctx).WithValues("folder", f.folder.dir)
	if err := f.folder.use(f.lastLook); err != nil {
		logger.Info("cannot use the manifests", "problem", err.Error())
		return
	}
	logger.Info("loaded manifests", "overridden", slices.Sorted(maps.Keys(f.lastLook.files)))
}

// follow reads the folder after events and at intervals, until ctx is cancelled.
func (f *follower) follow(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error) {
	settling := true // the folder may have changed before it was watched
	timer := clock.RealClock{}.NewTimer(settleTime)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-events:
			if settling || !f.concerns(event) {
				continue
			}
		case err := <-errs: // events were lost
			log.FromContext(ctx).V(1).Info("reading the manifests again", "cause", err.Error())
		case <-timer.C():
			if f.check(ctx) {
				settling = false
				timer.Reset(pollInterval)
				continue
			}
		}
		settling = true
		timer.Reset(settleTime)
	}
}

// concerns reports whether an event is about the folder or its content. The parent folder is watched, too.
func (f *follower) concerns(event fsnotify.Event) bool {
	return event.Name == f.folder.dir || filepath.Dir(event.Name) == f.folder.dir
}

// check uses the folder if it has not changed since the last look, but differs from the files in use.
// It returns false if the folder has to be read again.
func (f *follower) check(ctx context.Context) bool {
	if f.watch != nil {
		for _, dir := range []string{filepath.Dir(f.folder.dir), f.folder.dir} {
			_ = f.watch(dir) // fails if the folder does not exist; adding a watched folder has no effect
		}
	}
	if !f.isStable() {
		return false
	}
	if f.lastLook.equal(f.enqueued) {
		return true
	}
	f.use(ctx)
	if err := f.enqueueAll(ctx); err != nil {
		log.FromContext(ctx).Error(err, "cannot enqueue the objects that use the manifests")
		return false
	}
	f.enqueued = f.lastLook
	return true
}

func (f *follower) enqueueAll(ctx context.Context) error {
	list, _ := f.list.DeepCopyObject().(client.ObjectList)
	if err := f.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if obj, ok := item.(client.Object); ok {
			f.queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
		}
		return nil
	})
}
