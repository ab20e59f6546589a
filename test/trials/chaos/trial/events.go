package trial

import (
	"fmt"
	"sync"
	"time"
)

// An Event is something that happened during a run.
type Event struct {
	Lane, What string
	From, To   time.Time
}

// events collects what happens at the same time.
type events struct {
	mu  sync.Mutex
	all []Event
}

func (e *events) add(lane, what string, from, to time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, Event{lane, what, from, to})
}

// findings collects violations of guarantees that were found during a run.
type findings struct {
	mu  sync.Mutex
	all []string
}

func (f *findings) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, fmt.Sprintf(format, args...))
}
