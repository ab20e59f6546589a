package faults

import "errors"

// neighbours has the operators of two clusters write into one database: PostgresWriters of the same
// namespace and names, but different rows. Each operator is killed once, so that it looks for rows
// without a PostgresWriter while the rows of the other operator exist.
func neighbours(s *stage) error {
	if err := s.prepare(s.site.server); err != nil {
		return err
	}
	if err := s.keepJournal(); err != nil {
		return err
	}
	left, leftErr := s.join(s.site.left, "left")
	right, rightErr := s.join(s.site.right, "right")
	if err := errors.Join(leftErr, rightErr); err != nil {
		return err
	}
	if err := errors.Join(left.start(), right.start()); err != nil {
		return err
	}
	share := 0.3 + 0.4*s.random.Float64()
	if err := s.bothAdvance(left, right, share); err != nil {
		return err
	}
	if err := errors.Join(left.kill(), right.kill(), left.start(), right.start()); err != nil {
		return err
	}
	if err := s.bothAdvance(left, right, 1); err != nil {
		return err
	}
	if err := s.judge(s.settled(left, right), left, right); err != nil {
		return err
	}
	for _, p := range []*party{left, right} {
		writes, err := s.writesOf(p, 0)
		if err != nil {
			return err
		}
		s.happened("%s wrote %d rows", p.cluster, writes)
		err = s.trespasses(`select distinct writer || ' of `+p.cluster+`: ' || op || ' ' || key from journal
			where writer = $1 and not starts_with(key, $2)`, p.role, p.cluster+"/")
		if err != nil {
			return err
		}
	}
	return nil
}

// bothAdvance has the people of two clusters work at the same time.
func (s *stage) bothAdvance(one, other *party, share float64) error {
	return meanwhile(
		func() error { return one.crowd.advance(s.ctx, share, pace) },
		func() error { return other.crowd.advance(s.ctx, share, pace) },
	)
}
