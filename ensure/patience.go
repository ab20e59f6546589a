package ensure

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// patience is a context that is cancelled a while after the first wait for it begins. A read that a
// cache answers at once, as most are, never waits, and costs no timer.
//
// It has no deadline, because the rate limiter of client-go refuses at once to wait longer than a
// deadline allows.
type patience struct {
	context.Context //nolint:containedctx // the caller's, which this one is until the wait begins

	wait  time.Duration
	begin sync.Once
	begun atomic.Pointer[begunPatience]
}

type begunPatience struct {
	ctx  context.Context //nolint:containedctx // patience is a context itself
	stop func()
}

func newPatience(ctx context.Context, wait time.Duration) *patience {
	return &patience{Context: ctx, wait: wait}
}

// Done begins the wait.
func (p *patience) Done() <-chan struct{} {
	p.begin.Do(func() {
		ctx, cancel := context.WithCancel(p.Context)
		timer := time.AfterFunc(p.wait, cancel) //nolint:forbidigo // it ends a wait in real time
		p.begun.Store(&begunPatience{ctx: ctx, stop: func() { timer.Stop(); cancel() }})
	})
	return p.begun.Load().ctx.Done()
}

// Err returns the error of the current wait.
func (p *patience) Err() error { return p.current().Err() }

// Value lets contexts derived from this one find that they can be told without a
// goroutine of their own.
func (p *patience) Value(key any) any { return p.current().Value(key) }

func (p *patience) current() context.Context {
	if begun := p.begun.Load(); begun != nil {
		return begun.ctx
	}
	return p.Context
}

// ranOut reports whether err came of the wait, and not of the caller's context.
func (p *patience) ranOut(caller context.Context, err error) bool {
	return err != nil && caller.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || p.Err() != nil)
}

// end stops the timer.
func (p *patience) end() {
	if begun := p.begun.Load(); begun != nil {
		begun.stop()
	}
}
