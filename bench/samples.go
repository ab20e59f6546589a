package main

import (
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// samples are the costs of single runs of a function that can run only once after it has been prepared.
type samples struct {
	memory []cost // means of the runs of a round, without times
	times  []time.Duration
}

// add prepares functions, and adds the costs of each: the memory, and the processor time of this thread.
func (s *samples) add(runs int, prepare func() (func() error, error)) error {
	functions := make([]func() error, runs)
	for i := range functions {
		var err error
		if functions[i], err = prepare(); err != nil {
			return err
		}
	}
	runtime.GC()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, f := range functions {
		took, err := threadTimeOf(f)
		if err != nil {
			return err
		}
		s.times = append(s.times, took)
	}
	runtime.ReadMemStats(&after)
	n := float64(runs)
	s.memory = append(s.memory, cost{
		allocs: float64(after.Mallocs-before.Mallocs) / n, bytes: float64(after.TotalAlloc-before.TotalAlloc) / n,
	})
	return nil
}

// cost returns the memory of the best round, and the lower quartile of the times. Other load on the machine increases some of
// them, with faults of pages and of caches; and the lowest ones are sheer luck.
func (s *samples) cost() cost {
	c := s.memory[0]
	for _, other := range s.memory {
		c = c.least(other)
	}
	c.ns = float64(slices.Sorted(slices.Values(s.times))[len(s.times)/4].Nanoseconds())
	return c
}

// threadTimeOf returns the processor time that this thread uses for f.
func threadTimeOf(f func() error) (time.Duration, error) {
	start, err := threadTime()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	end, err := threadTime()
	return end - start, err
}

// threadTime returns the processor time that this thread has used.
func threadTime() (time.Duration, error) {
	var used unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used)
	return time.Duration(used.Nano()), err
}
