package scale

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// A footprint is the cost of an instance: processor time and clock time of a pass, and memory in
// bytes.
type footprint struct {
	work, pass   time.Duration
	heap, memory int
}

// footprint measures this many passes and returns the mean, which contains a fair share of the rare
// and long garbage collections.
func (o *instance) footprint(ctx context.Context, passes int) (footprint, error) {
	cold, err := newColdCache()
	if err != nil {
		return footprint{}, err
	}
	var sum footprint
	for range passes {
		cold.empty()
		worked := processorTime()
		taken, err := o.resync(ctx)
		if err != nil {
			return footprint{}, err
		}
		sum.work += processorTime() - worked
		sum.pass += taken
	}
	seen := footprint{work: sum.work / time.Duration(passes), pass: sum.pass / time.Duration(passes), heap: heapInUse()}
	o.forget()
	seen.memory = seen.heap - heapInUse()
	runtime.KeepAlive(o)
	return seen, cold.release()
}

// processorTime returns the processor time of this process so far.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // nothing is wrong with the arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heapInUse returns the size of the reachable heap.
func heapInUse() int {
	runtime.GC()
	runtime.GC() // what pools hold survives one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// less returns the difference of two footprints.
func (f footprint) less(other footprint) footprint {
	return footprint{
		work:   f.work - other.work,
		pass:   f.pass - other.pass,
		heap:   f.heap - other.heap,
		memory: f.memory - other.memory,
	}
}

// median is the middle of one figure of several footprints.
func median[N cmp.Ordered](seen []footprint, figure func(footprint) N) N {
	var figures []N
	for _, f := range seen {
		figures = append(figures, figure(f))
	}
	slices.Sort(figures)
	return figures[len(figures)/2]
}
