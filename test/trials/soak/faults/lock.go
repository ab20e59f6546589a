package faults

import (
	"errors"
	"time"
)

// rivals prepares two operators that contend for the global lock, which the first one holds.
// Different cluster names give each operator its own rows; without names both write the same rows, and each
// adopts the rows of the other.
func (f *fixture) rivals(leftName, rightName string) (holder, waiting *instance, err error) {
	if err := f.prepare(f.env.server); err != nil {
		return nil, nil, err
	}
	if err := f.keepJournal(); err != nil {
		return nil, nil, err
	}
	left, leftErr := f.addInstance(f.env.left, leftName, "--global-lock", "--adopt-rows")
	right, rightErr := f.addInstance(f.env.right, rightName, "--global-lock", "--adopt-rows")
	if err := errors.Join(leftErr, rightErr); err != nil {
		return nil, nil, err
	}
	if err := left.start(); err != nil {
		return nil, nil, err
	}
	if err := until(f.ctx, "there is a lock", func() error { return f.exec(`table postgreswriter_lease`) }); err != nil {
		return nil, nil, err
	}
	if err := f.exec(`grant select, insert, update on postgreswriter_lease to ` + right.role); err != nil {
		return nil, nil, err
	}
	if err := until(f.ctx, "somebody holds the lock", f.isHeld); err != nil {
		return nil, nil, err
	}
	return left, right, errors.Join(f.watchLease(left), right.start())
}

func (f *fixture) isHeld() error {
	var holder string
	return f.database.Pool.QueryRow(f.ctx, `select holder from postgreswriter_lease where holder <> ''`).Scan(&holder)
}

// takesOver waits until an instance holds the lock and has written rows since then.
func (f *fixture) takesOver(p *instance, since int64) error {
	return until(f.ctx, "another holds the lock, and writes", func() error {
		var owner string
		err := f.database.Pool.QueryRow(f.ctx,
			`select owner from postgreswriter_lease join holders on identity = holder`).Scan(&owner)
		if err != nil {
			return err
		}
		if owner != p.role {
			return errors.New("it is not the holder")
		}
		writes, err := f.writesOf(p, since)
		if err == nil && writes == 0 {
			err = errors.New("it has not written")
		}
		return err
	})
}

// killedHolder kills the holder of the lock. The clusters have the same PostgresWriters, as with a
// standby cluster.
func killedHolder(f *fixture) error {
	holder, waiting, err := f.rivals("", "")
	if err != nil {
		return err
	}
	users := holder.users
	users.clients = append(users.clients, waiting.plane.admin)
	waiting.users = users
	phases := float64(2*f.plan.Takeovers + 1)
	for i := range f.plan.Takeovers {
		err := concurrently(
			func() error { return users.advance(f.ctx, float64(2*i+1)/phases, pace) },
			func() error { return errors.Join(pass(f.ctx, f.atMost(pace)), holder.kill()) },
		)
		if err != nil {
			return err
		}
		killed := time.Now()
		since, err := f.journalLength()
		if err != nil {
			return err
		}
		if err := users.advance(f.ctx, float64(2*i+2)/phases, pace); err != nil {
			return err
		}
		if err := f.takesOver(waiting, since); err != nil {
			return err
		}
		f.happened("taken over %s after a kill", time.Since(killed).Round(time.Second))
		if err := holder.start(); err != nil {
			return err
		}
		holder, waiting = waiting, holder
	}
	if err := users.advance(f.ctx, 1, pace); err != nil {
		return err
	}
	return f.inTurn(holder, waiting)
}

// inTurn waits until the rows of each operator are right, of the second one after the first has
// given up the lock, and checks the result.
func (f *fixture) inTurn(holder, waiting *instance) error {
	unrest := f.settled(holder)
	if unrest == nil {
		unrest = errors.Join(holder.stop(), f.settled(waiting))
	}
	return errors.Join(f.check(unrest, holder, waiting), f.checkLock())
}

// checkLock looks for three violations: rows written by an operator that did not hold the lock at
// the time or at the end of the transaction; terms with two writers, or with a write after a later
// term began to write; and a lock released by an operator that did not hold it.
func (f *fixture) checkLock() error {
	return errors.Join(
		f.findViolations(`select writer || ' ' || moment || ': ' || op || ' ' || tab || ' ' || key || ', held by ' ||
			coalesce(owner, 'nobody') from journal where owner is distinct from writer`),
		f.findViolations(`select 'in term ' || term || ' wrote ' || string_agg(distinct writer, ' and ')
			from journal group by term having count(distinct writer) > 1`),
		f.findViolations(`select writer || ' wrote ' || key || ' in term ' || term || ' after one in term ' || latest
			from (select *, max(term) over (order by n) as latest from journal) as j where term < latest`),
		f.findViolations(`select writer || ' gave up what ' || owner || ' held' from handovers
			join holders on identity = before where after = '' and writer <> owner`))
}
