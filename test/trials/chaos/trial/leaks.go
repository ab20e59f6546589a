package trial

import (
	"context"
	"fmt"
	"slices"

	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// A Usage is what an operator uses while it has nothing to do.
type Usage struct {
	Goroutines float64
	// Heap is the live memory in bytes, after a garbage collection.
	Heap float64
}

// A run may leave so much more than there was before: half as much again, and connections.
const (
	moreGoroutines = 40
	moreHeap       = 24 << 20
)

// usages returns the usage of each operator.
func (e *environment) usages(ctx context.Context) (map[string]Usage, error) {
	usages := map[string]Usage{}
	for name, pair := range e.operators {
		err := await.Until(ctx, requestTimeout, func(ctx context.Context) error {
			metrics, err := operator.Metrics(ctx, pair.main.metrics.Address())
			usages[name] = Usage{Goroutines: metrics["go_goroutines"], Heap: metrics["go_gc_heap_live_bytes"]}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("cannot read the usage of %s: %w", name, err)
		}
	}
	return usages, nil
}

// leaks describes the operators that use more than before.
func leaks(before, after map[string]Usage) []string {
	var found []string
	for name, was := range before {
		is := after[name]
		if is.Goroutines > 1.5*was.Goroutines+moreGoroutines {
			found = append(found, fmt.Sprintf("%s has %.0f goroutines, and had %.0f", name, is.Goroutines, was.Goroutines))
		}
		if is.Heap > 1.5*was.Heap+moreHeap {
			found = append(found, fmt.Sprintf("%s has %.0f MiB of live memory, and had %.0f", name, is.Heap/(1<<20), was.Heap/(1<<20)))
		}
	}
	slices.Sort(found)
	return found
}
