// Package offset has a clock that tests set ahead while the real one goes on.
package offset

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// A Clock runs at the speed of the real clock, ahead of the real time. The zero value is not ahead. It is safe for concurrent
// use.
type Clock struct {
	clock.RealClock
	ahead atomic.Int64
}

// Advance sets the clock ahead by d more.
func (c *Clock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time { return c.RealClock.Now().Add(time.Duration(c.ahead.Load())) }

// Since returns the time of the clock since a time.
func (c *Clock) Since(since time.Time) time.Duration { return c.Now().Sub(since) }
