package faults

import "errors"

// neighbours has the operators of two clusters write into one database: PostgresWriters of the same
// namespace and names, but different rows. Each operator is killed once, so that it looks for rows
// without a PostgresWriter while the rows of the other operator exist.
func neighbours(f *fixture) error {
	if err := f.prepare(f.env.server); err != nil {
		return err
	}
	if err := f.keepJournal(); err != nil {
		return err
	}
	left, leftErr := f.addInstance(f.env.left, "left")
	right, rightErr := f.addInstance(f.env.right, "right")
	if err := errors.Join(leftErr, rightErr); err != nil {
		return err
	}
	if err := errors.Join(left.start(), right.start()); err != nil {
		return err
	}
	share := 0.3 + 0.4*f.random.Float64()
	if err := f.bothAdvance(left, right, share); err != nil {
		return err
	}
	if err := errors.Join(left.kill(), right.kill(), left.start(), right.start()); err != nil {
		return err
	}
	if err := f.bothAdvance(left, right, 1); err != nil {
		return err
	}
	if err := f.check(f.settled(left, right), left, right); err != nil {
		return err
	}
	for _, p := range []*instance{left, right} {
		writes, err := f.writesOf(p, 0)
		if err != nil {
			return err
		}
		f.happened("%s wrote %d rows", p.cluster, writes)
		err = f.findViolations(`select distinct writer || ' of `+p.cluster+`: ' || op || ' ' || key from journal
			where writer = $1 and not starts_with(key, $2)`, p.role, p.cluster+"/")
		if err != nil {
			return err
		}
	}
	return nil
}

// bothAdvance has the people of two clusters work at the same time.
func (f *fixture) bothAdvance(one, other *instance, share float64) error {
	return concurrently(
		func() error { return one.users.advance(f.ctx, share, pace) },
		func() error { return other.users.advance(f.ctx, share, pace) },
	)
}
