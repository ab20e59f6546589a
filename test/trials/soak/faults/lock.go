package faults

import (
	"errors"
	"time"
)

// rivals prepares two operators that contend for the global lock, which the first one holds.
// Different cluster names give each operator its own rows; without names both write the same rows.
func (s *stage) rivals(leftName, rightName string) (holder, waiting *party, err error) {
	if err := s.prepare(s.site.server); err != nil {
		return nil, nil, err
	}
	if err := s.keepJournal(); err != nil {
		return nil, nil, err
	}
	left, leftErr := s.join(s.site.left, leftName, "--global-lock")
	right, rightErr := s.join(s.site.right, rightName, "--global-lock")
	if err := errors.Join(leftErr, rightErr); err != nil {
		return nil, nil, err
	}
	if err := left.start(); err != nil {
		return nil, nil, err
	}
	if err := until(s.ctx, "there is a lock", func() error { return s.exec(`table postgreswriter_lease`) }); err != nil {
		return nil, nil, err
	}
	if err := s.exec(`grant select, insert, update on postgreswriter_lease to ` + right.role); err != nil {
		return nil, nil, err
	}
	if err := until(s.ctx, "somebody holds the lock", s.isHeld); err != nil {
		return nil, nil, err
	}
	return left, right, errors.Join(s.watchLease(left), right.start())
}

func (s *stage) isHeld() error {
	var holder string
	return s.database.Pool.QueryRow(s.ctx, `select holder from postgreswriter_lease where holder <> ''`).Scan(&holder)
}

// takesOver waits until a party holds the lock and has written rows since then.
func (s *stage) takesOver(p *party, since int64) error {
	return until(s.ctx, "another holds the lock, and writes", func() error {
		var owner string
		err := s.database.Pool.QueryRow(s.ctx,
			`select owner from postgreswriter_lease join holders on identity = holder`).Scan(&owner)
		if err != nil {
			return err
		}
		if owner != p.role {
			return errors.New("it is not the holder")
		}
		writes, err := s.writesOf(p, since)
		if err == nil && writes == 0 {
			err = errors.New("it has not written")
		}
		return err
	})
}

// killedHolder kills the holder of the lock. The clusters have the same PostgresWriters, as with a
// standby cluster.
func killedHolder(s *stage) error {
	holder, waiting, err := s.rivals("", "")
	if err != nil {
		return err
	}
	crowd := holder.crowd
	crowd.clients = append(crowd.clients, waiting.plane.admin)
	waiting.crowd = crowd
	phases := float64(2*s.plan.Takeovers + 1)
	for i := range s.plan.Takeovers {
		err := meanwhile(
			func() error { return crowd.advance(s.ctx, float64(2*i+1)/phases, pace) },
			func() error { return errors.Join(pass(s.ctx, s.atMost(pace)), holder.kill()) },
		)
		if err != nil {
			return err
		}
		killed := time.Now()
		since, err := s.pages()
		if err != nil {
			return err
		}
		if err := crowd.advance(s.ctx, float64(2*i+2)/phases, pace); err != nil {
			return err
		}
		if err := s.takesOver(waiting, since); err != nil {
			return err
		}
		s.happened("taken over %s after a kill", time.Since(killed).Round(time.Second))
		if err := holder.start(); err != nil {
			return err
		}
		holder, waiting = waiting, holder
	}
	if err := crowd.advance(s.ctx, 1, pace); err != nil {
		return err
	}
	return s.inTurn(holder, waiting)
}

// inTurn waits until the rows of each operator are right, of the second one after the first has
// given up the lock, and judges.
func (s *stage) inTurn(holder, waiting *party) error {
	unrest := s.settled(holder)
	if unrest == nil {
		unrest = errors.Join(holder.stop(), s.settled(waiting))
	}
	return errors.Join(s.judge(unrest, holder, waiting), s.checkLock())
}

// checkLock looks for three violations: rows written by an operator that did not hold the lock at
// the time or at the end of the transaction; terms with two writers, or with a write after a later
// term began to write; and a lock released by an operator that did not hold it.
func (s *stage) checkLock() error {
	return errors.Join(
		s.trespasses(`select writer || ' ' || moment || ': ' || op || ' ' || tab || ' ' || key || ', held by ' ||
			coalesce(owner, 'nobody') from journal where owner is distinct from writer`),
		s.trespasses(`select 'in term ' || term || ' wrote ' || string_agg(distinct writer, ' and ')
			from journal group by term having count(distinct writer) > 1`),
		s.trespasses(`select writer || ' wrote ' || key || ' in term ' || term || ' after one in term ' || latest
			from (select *, max(term) over (order by n) as latest from journal) as j where term < latest`),
		s.trespasses(`select writer || ' gave up what ' || owner || ' held' from handovers
			join holders on identity = before where after = '' and writer <> owner`))
}
