package faults

import (
	"errors"
	"time"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// pace is how long people take for all that they do while nothing is broken.
const pace = 2 * time.Second

// stoppedDatabase stops the database in the middle of the work.
func stoppedDatabase(s *stage) error {
	p, err := s.alone(s.site.stopped, s.site.left)
	if err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	share := 0.2 + 0.2*s.random.Float64()
	if err := p.crowd.advance(s.ctx, share, pace); err != nil {
		return err
	}
	if err := s.site.stopped.Stop(); err != nil {
		return err
	}
	stopped := time.Now()
	if err := p.crowd.advance(s.ctx, share+0.4, s.plan.Outage); err != nil {
		return err
	}
	if err := pass(s.ctx, s.plan.Outage-time.Since(stopped)); err != nil {
		return err
	}
	if err := s.site.stopped.Restart(s.ctx); err != nil {
		return err
	}
	s.happened("stopped for %s", time.Since(stopped).Round(time.Second))
	if err := p.crowd.advance(s.ctx, 1, pace); err != nil {
		return err
	}
	return s.judge(s.settled(p), p)
}

// killedOperator kills the operator again and again: up to a second and a half after its start,
// when it may not reconcile yet, and at some moment while people work.
func killedOperator(s *stage) error {
	p, err := s.alone(s.site.server, s.site.left)
	if err != nil {
		return err
	}
	busy := 0
	for i := range s.plan.Kills {
		left, err := s.startAndKill(p, float64(i+1)/float64(s.plan.Kills+1))
		if err != nil {
			return err
		}
		if left.differs() != nil {
			busy++
		}
	}
	s.happened("kills: %d (%d with work left)", s.plan.Kills, busy)
	if busy == 0 {
		return errors.New("no kill came when there was work left, so that this shows nothing")
	}
	if err := p.start(); err != nil {
		return err
	}
	if err := p.crowd.advance(s.ctx, 1, pace); err != nil {
		return err
	}
	return s.judge(s.settled(p), p)
}

// startAndKill returns the work that was left.
func (s *stage) startAndKill(p *party, share float64) (Tally, error) {
	if err := p.start(); err != nil {
		return Tally{}, err
	}
	if err := pass(s.ctx, s.atMost(1500*time.Millisecond)); err != nil {
		return Tally{}, err
	}
	const burst = 300 * time.Millisecond
	err := meanwhile(
		func() error { return p.crowd.advance(s.ctx, share, burst) },
		func() error { return errors.Join(pass(s.ctx, s.atMost(burst)), p.kill()) },
	)
	if err != nil {
		return Tally{}, err
	}
	return s.tally(p)
}

// killedServer kills the API server and starts it again a moment later.
func killedServer(s *stage) error {
	p, err := s.alone(s.site.server, s.site.down)
	if err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	var down time.Duration
	err = meanwhile(
		func() error { return p.crowd.advance(s.ctx, 1, time.Duration(s.plan.Restarts)*6*time.Second) },
		func() (err error) { down, err = s.restartServer(); return err },
	)
	if err != nil {
		return err
	}
	s.happened("kills: %d (%s down)", s.plan.Restarts, down.Round(time.Second))
	return s.judge(s.settled(p), p)
}

// restartServer returns how long the API server was down.
func (s *stage) restartServer() (down time.Duration, err error) {
	for range s.plan.Restarts {
		if err := pass(s.ctx, time.Second+s.atMost(3*time.Second)); err != nil {
			return down, err
		}
		killed := time.Now()
		if err := s.site.down.cluster.Kill(cluster.APIServer); err != nil {
			return down, err
		}
		if err := pass(s.ctx, s.atMost(2*time.Second)); err != nil {
			return down, err
		}
		if err := s.site.down.cluster.Restart(s.ctx, cluster.APIServer); err != nil {
			return down, err
		}
		down += time.Since(killed)
	}
	return down, nil
}
