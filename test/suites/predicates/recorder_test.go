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

// predicatesByName are the predicates on the page docs/predicates.md.
var predicatesByName = map[string]predicate.Predicate{
	primary:         predicates.Primary(),
	owned:           predicates.Owned(),
	generation:      predicate.GenerationChangedPredicate{},
	resourceVersion: predicate.ResourceVersionChangedPredicate{},
}

type verdicts map[string]bool

func evaluate(passes func(predicate.Predicate) bool) verdicts {
	v := verdicts{}
	for name, p := range predicatesByName {
		v[name] = passes(p)
	}
	return v
}

// A recordedEvent is one event of a watch.
type recordedEvent struct {
	name         string
	older, newer client.Object // older is nil for a Create, newer for a Delete
	missed       bool          // a Delete that was
	verdicts     verdicts
}

func (s recordedEvent) isCreate() bool { return s.older == nil }
func (s recordedEvent) isUpdate() bool { return s.older != nil && s.newer != nil }
func (s recordedEvent) isDelete() bool { return s.newer == nil }

func (s recordedEvent) isResync() bool {
	return s.isUpdate() && s.older.GetResourceVersion() == s.newer.GetResourceVersion()
}

func (s recordedEvent) isReplacement() bool {
	return s.isUpdate() && s.older.GetUID() != s.newer.GetUID()
}

func (s recordedEvent) isDeletionRequest() bool {
	return s.isUpdate() && s.older.GetDeletionTimestamp() == nil && s.newer.GetDeletionTimestamp() != nil
}

// is reports whether the event brings this version of an object.
func (s recordedEvent) is(uid types.UID, version string) bool {
	return s.isUpdate() && !s.isResync() && s.newer.GetUID() == uid && s.newer.GetResourceVersion() == version
}

// An eventRecorder records every event of one watch and the verdicts of the predicates.
type eventRecorder struct {
	mu     sync.Mutex
	events []recordedEvent
	more   chan struct{} // closed when there are more
}

// watch returns a recorder of the events of objects that are like obj.
func watch(ctx context.Context, t *testing.T, c cache.Cache, obj client.Object) (*eventRecorder, source.SyncingSource) {
	t.Helper()
	r := &eventRecorder{more: make(chan struct{})}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	kind := source.Kind[client.Object](c, obj, handler.Funcs{}, r.predicate())
	require.NoError(t, kind.Start(ctx, queue))
	return r, kind
}

// predicate returns the recorder as a predicate of a controller.
func (r *eventRecorder) predicate() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			v := evaluate(func(p predicate.Predicate) bool { return p.Create(e) })
			return r.record(recordedEvent{name: e.Object.GetName(), newer: e.Object, verdicts: v})
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			v := evaluate(func(p predicate.Predicate) bool { return p.Update(e) })
			return r.record(recordedEvent{name: e.ObjectNew.GetName(), older: e.ObjectOld, newer: e.ObjectNew, verdicts: v})
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			v := evaluate(func(p predicate.Predicate) bool { return p.Delete(e) })
			return r.record(recordedEvent{name: e.Object.GetName(), older: e.Object, missed: e.DeleteStateUnknown, verdicts: v})
		},
	}
}

// record returns false, as there is no reconciler.
func (r *eventRecorder) record(s recordedEvent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, s)
	close(r.more)
	r.more = make(chan struct{})
	return false
}

// await returns the verdicts on the first event that is the awaited one.
func (r *eventRecorder) await(ctx context.Context, t *testing.T, name string, is func(recordedEvent) bool) verdicts {
	t.Helper()
	for seen := 0; ; {
		r.mu.Lock()
		sightings, more := r.events, r.more
		r.mu.Unlock()
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
