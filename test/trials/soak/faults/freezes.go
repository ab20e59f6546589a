package faults

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// frozenAnyTime freezes the holder of the lock at some moment while people work.
func frozenAnyTime(f *fixture) error { return f.freezeHolders(f.freezeAtRandom) }

// frozenInTransaction freezes the holder of the lock at the worst moment.
func frozenInTransaction(f *fixture) error { return f.freezeHolders(f.freezeInTransaction) }

// freezeHolders freezes the holder of the lock in the middle of its work, for longer than the lease
// lasts. It resumes this holder once another operator has taken over and work is left. The resumed
// operator must write nothing and end.
func (f *fixture) freezeHolders(freeze func(holder, waiting *instance, share float64) error) error {
	holder, waiting, err := f.rivals("left", "right")
	if err != nil {
		return err
	}
	phases := float64(2*f.plan.Freezes + 1)
	for i := range f.plan.Freezes {
		if err := freeze(holder, waiting, float64(2*i+1)/phases); err != nil {
			return err
		}
		if err := f.checkResumedOperatorEnds(holder, waiting, float64(2*i+2)/phases); err != nil {
			return err
		}
		if err := holder.start(); err != nil {
			return err
		}
		holder, waiting = waiting, holder
	}
	if err := f.bothAdvance(holder, waiting, 1); err != nil {
		return err
	}
	return f.inTurn(holder, waiting)
}

func (f *fixture) freezeAtRandom(holder, waiting *instance, share float64) error {
	return concurrently(
		func() error { return f.bothAdvance(holder, waiting, share) },
		func() error { return errors.Join(pass(f.ctx, f.atMost(pace)), holder.process.Freeze()) },
	)
}

// freezeInTransaction freezes the holder during a write, while a renewal of the lock waits for this
// write. A lock on the tables delays both, so that both are certain to happen. Once the tables are
// unlocked, the database executes the write and waits in vain for the commit.
func (f *fixture) freezeInTransaction(holder, waiting *instance, share float64) error {
	tx, err := f.database.Pool.Begin(f.ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(f.ctx, "lock table "+strings.Join(tables, ", ")+" in share row exclusive mode")
	if err != nil {
		return errors.Join(err, tx.Rollback(f.ctx))
	}
	err = concurrently(
		func() error { return f.bothAdvance(holder, waiting, share) },
		func() error {
			err := until(f.ctx, "a write and a renewal wait", func() error {
				return errors.Join(
					f.hasSession(holder, "wait_event_type = 'Lock' and wait_event = 'relation'"),
					f.hasSession(holder, "wait_event_type = 'Lock' and query ~ '^\\s*update postgreswriter_lease'"))
			})
			return errors.Join(err, holder.process.Freeze(), tx.Rollback(f.ctx))
		},
	)
	if err != nil {
		return err
	}
	return until(f.ctx, "a transaction is open", func() error { return f.hasSession(holder, "state = 'idle in transaction'") })
}

// hasSession is nil if the instance has a session of that condition.
func (f *fixture) hasSession(p *instance, condition string) error {
	var one int
	err := f.database.Pool.QueryRow(f.ctx, `select 1 from pg_stat_activity
		where datname = current_database() and usename = $1 and `+condition+` limit 1`, p.role).Scan(&one)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%s has no session with %s", p.role, condition)
	}
	return err
}

// checkResumedOperatorEnds resumes the frozen operator once the other one has taken over and work is left, and
// checks that the resumed operator ends without having written anything.
func (f *fixture) checkResumedOperatorEnds(frozen, other *instance, share float64) error {
	begun := time.Now()
	since, err := f.journalLength()
	if err != nil {
		return err
	}
	if err := f.bothAdvance(frozen, other, share); err != nil {
		return err
	}
	if err := f.takesOver(other, since); err != nil {
		return err
	}
	taken := time.Since(begun)
	if err := pass(f.ctx, f.atMost(pace)); err != nil {
		return err
	}
	left, err := f.tally(frozen)
	if err != nil {
		return err
	}
	if left.differs() == nil {
		return errors.New("nothing was left to do for the frozen operator, so that this shows nothing")
	}
	f.happened("frozen for %s, taken over after %s, came back to %d changes", time.Since(begun).Round(time.Second),
		taken.Round(time.Second), left.Lost+left.LeftBehind)
	process := frozen.process
	if err := f.resumeUntilEnd(frozen); err != nil {
		return err
	}
	f.happened("writes refused: %d", strings.Count(process.Log(), "does not have the global lock"))
	return nil
}

// resumeUntilEnd resumes the operator and returns when it has ended.
func (f *fixture) resumeUntilEnd(p *instance) error {
	since, err := f.journalLength()
	if err != nil {
		return err
	}
	process := p.process
	if err := process.Resume(); err != nil {
		return err
	}
	select {
	case <-process.Exited():
		p.process = nil
	case <-time.After(waitTimeout):
		return errors.New("the operator that lost the lock did not end")
	}
	if process.Exit() != "exit status 1" {
		return fmt.Errorf("the operator that lost the lock ended with %s", process.Exit())
	}
	return f.findViolations(`select writer || ' after it came back: ' || op || ' ' || tab || ' ' || key from journal
		where moment = 'at once' and n > $1 and writer = $2`, since, p.role)
}
