package predicates_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trueup-go/trueup/predicates"
)

// judges are the predicates on the page.
var judges = map[string]predicate.Predicate{
	primary:         predicates.Primary(),
	owned:           predicates.Owned(),
	generation:      predicate.GenerationChangedPredicate{},
	resourceVersion: predicate.ResourceVersionChangedPredicate{},
}

type verdicts map[string]bool

func judge(passes func(predicate.Predicate) bool) verdicts {
	v := verdicts{}
	for name, p := range judges {
		v[name] = passes(p)
	}
	return v
}

// A sighting is one event of a watch.
type sighting struct {
	name         string
	older, newer client.Object // older is nil for a Create, newer for a Delete
	missed       bool          // a Delete that was
	verdicts     verdicts
}

func (s sighting) isCreate() bool { return s.older == nil }
func (s sighting) isUpdate() bool { return s.older != nil && s.newer != nil }
func (s sighting) isDelete() bool { return s.newer == nil }

func (s sighting) isResync() bool {
	return s.isUpdate() && s.older.GetResourceVersion() == s.newer.GetResourceVersion()
}

func (s sighting) isReplacement() bool { return s.isUpdate() && s.older.GetUID() != s.newer.GetUID() }

func (s sighting) isDeletionRequest() bool {
	return s.isUpdate() && s.older.GetDeletionTimestamp() == nil && s.newer.GetDeletionTimestamp() != nil
}

// is reports whether the event brings this version of an object.
func (s sighting) is(uid types.UID, version string) bool {
	return s.isUpdate() && !s.isResync() && s.newer.GetUID() == uid && s.newer.GetResourceVersion() == version
}

// A witness sees every event of one watch and the verdicts of the predicates.
type witness struct {
	mu        sync.Mutex
	sightings []sighting
	more      chan struct{} // closed when there are more
}

// watch makes a witness of the objects that are like obj.
func watch(ctx context.Context, t *testing.T, c cache.Cache, obj client.Object) (*witness, source.SyncingSource) {
	t.Helper()
	w := &witness{more: make(chan struct{})}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	kind := source.Kind[client.Object](c, obj, handler.Funcs{}, w.eyes())
	require.NoError(t, kind.Start(ctx, queue))
	return w, kind
}

// eyes returns the witness as a predicate of a controller.
func (w *witness) eyes() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			v := judge(func(p predicate.Predicate) bool { return p.Create(e) })
			return w.see(sighting{name: e.Object.GetName(), newer: e.Object, verdicts: v})
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			v := judge(func(p predicate.Predicate) bool { return p.Update(e) })
			return w.see(sighting{name: e.ObjectNew.GetName(), older: e.ObjectOld, newer: e.ObjectNew, verdicts: v})
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			v := judge(func(p predicate.Predicate) bool { return p.Delete(e) })
			return w.see(sighting{name: e.Object.GetName(), older: e.Object, missed: e.DeleteStateUnknown, verdicts: v})
		},
	}
}

// see lets nothing through, as there is no reconciler.
func (w *witness) see(s sighting) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sightings = append(w.sightings, s)
	close(w.more)
	w.more = make(chan struct{})
	return false
}

// await returns the verdicts on the first event that is the awaited one.
func (w *witness) await(ctx context.Context, t *testing.T, name string, is func(sighting) bool) verdicts {
	t.Helper()
	for seen := 0; ; {
		w.mu.Lock()
		sightings, more := w.sightings, w.more
		w.mu.Unlock()
		for ; seen < len(sightings); seen++ {
			if s := sightings[seen]; s.name == name && is(s) {
				return s.verdicts
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			require.NoError(t, ctx.Err(), "the event never came")
		}
	}
}
