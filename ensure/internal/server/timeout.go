package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A lazyTimeout is a context that is cancelled a while after the first wait for it begins. A read that a
// cache answers at once, as most are, never waits, and costs no timer.
//
// It has no deadline, because the rate limiter of client-go refuses at once to wait longer than a
// deadline allows.
type lazyTimeout struct {
	context.Context //nolint:containedctx // the caller's, which this one is until the wait begins

	wait    time.Duration
	once    sync.Once
	started atomic.Pointer[startedTimeout]
}

type startedTimeout struct {
	ctx  context.Context //nolint:containedctx // a lazyTimeout is a context itself
	stop func()
}

func newLazyTimeout(ctx context.Context, wait time.Duration) *lazyTimeout {
	return &lazyTimeout{Context: ctx, wait: wait}
}

// Done begins the wait.
func (p *lazyTimeout) Done() <-chan struct{} {
	p.once.Do(func() {
		ctx, cancel := context.WithCancel(p.Context)
		timer := time.AfterFunc(p.wait, cancel) //nolint:forbidigo // it ends a wait in real time
		p.started.Store(&startedTimeout{ctx: ctx, stop: func() { timer.Stop(); cancel() }})
	})
	return p.started.Load().ctx.Done()
}

// Err returns the error of the current wait.
func (p *lazyTimeout) Err() error { return p.current().Err() }

// Value lets contexts derived from this one find that they can be told without a
// goroutine of their own.
func (p *lazyTimeout) Value(key any) any { return p.current().Value(key) }

func (p *lazyTimeout) current() context.Context {
	if begun := p.started.Load(); begun != nil {
		return begun.ctx
	}
	return p.Context
}

// hasExpired reports whether err came of the wait, and not of the caller's context.
func (p *lazyTimeout) hasExpired(caller context.Context, err error) bool {
	return err != nil && caller.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || p.Err() != nil)
}

// stop stops the timer.
func (p *lazyTimeout) stop() {
	if begun := p.started.Load(); begun != nil {
		begun.stop()
	}
}
