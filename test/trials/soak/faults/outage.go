package faults

import (
	"errors"
	"time"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// pace is how long people take for all that they do while nothing is broken.
const pace = 2 * time.Second

// stoppedDatabase stops the database in the middle of the work.
func stoppedDatabase(f *fixture) error {
	p, err := f.onlyInstance(f.env.stopped, f.env.left)
	if err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	share := 0.2 + 0.2*f.random.Float64()
	if err := p.users.advance(f.ctx, share, pace); err != nil {
		return err
	}
	if err := f.env.stopped.Stop(); err != nil {
		return err
	}
	stopped := time.Now()
	if err := p.users.advance(f.ctx, share+0.4, f.plan.Outage); err != nil {
		return err
	}
	if err := pass(f.ctx, f.plan.Outage-time.Since(stopped)); err != nil {
		return err
	}
	if err := f.env.stopped.Restart(f.ctx); err != nil {
		return err
	}
	f.happened("stopped for %s", time.Since(stopped).Round(time.Second))
	if err := p.users.advance(f.ctx, 1, pace); err != nil {
		return err
	}
	return f.check(f.settled(p), p)
}

// killedOperator kills the operator again and again: up to a second and a half after its start,
// when it may not reconcile yet, and at some moment while people work.
func killedOperator(f *fixture) error {
	p, err := f.onlyInstance(f.env.server, f.env.left)
	if err != nil {
		return err
	}
	busy := 0
	for i := range f.plan.Kills {
		left, err := f.startAndKill(p, float64(i+1)/float64(f.plan.Kills+1))
		if err != nil {
			return err
		}
		if left.differs() != nil {
			busy++
		}
	}
	f.happened("kills: %d (%d with work left)", f.plan.Kills, busy)
	if busy == 0 {
		return errors.New("no kill came when there was work left, so that this shows nothing")
	}
	if err := p.start(); err != nil {
		return err
	}
	if err := p.users.advance(f.ctx, 1, pace); err != nil {
		return err
	}
	return f.check(f.settled(p), p)
}

// startAndKill returns the work that was left.
func (f *fixture) startAndKill(p *instance, share float64) (Tally, error) {
	if err := p.start(); err != nil {
		return Tally{}, err
	}
	if err := pass(f.ctx, f.atMost(1500*time.Millisecond)); err != nil {
		return Tally{}, err
	}
	const burst = 300 * time.Millisecond
	err := concurrently(
		func() error { return p.users.advance(f.ctx, share, burst) },
		func() error { return errors.Join(pass(f.ctx, f.atMost(burst)), p.kill()) },
	)
	if err != nil {
		return Tally{}, err
	}
	return f.tally(p)
}

// killedServer kills the API server and starts it again a moment later.
func killedServer(f *fixture) error {
	p, err := f.onlyInstance(f.env.server, f.env.down)
	if err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	var down time.Duration
	err = concurrently(
		func() error { return p.users.advance(f.ctx, 1, time.Duration(f.plan.Restarts)*6*time.Second) },
		func() (err error) { down, err = f.restartServer(); return err },
	)
	if err != nil {
		return err
	}
	f.happened("kills: %d (%s down)", f.plan.Restarts, down.Round(time.Second))
	return f.check(f.settled(p), p)
}

// restartServer returns how long the API server was down.
func (f *fixture) restartServer() (down time.Duration, err error) {
	for range f.plan.Restarts {
		if err := pass(f.ctx, time.Second+f.atMost(3*time.Second)); err != nil {
			return down, err
		}
		killed := time.Now()
		if err := f.env.down.cluster.Kill(cluster.APIServer); err != nil {
			return down, err
		}
		if err := pass(f.ctx, f.atMost(2*time.Second)); err != nil {
			return down, err
		}
		if err := f.env.down.cluster.Restart(f.ctx, cluster.APIServer); err != nil {
			return down, err
		}
		down += time.Since(killed)
	}
	return down, nil
}
