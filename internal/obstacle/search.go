package obstacle

import "slices"

// A Search finds the obstacles that have to go, by trials.
type Search struct {
	// Try returns the answer of the API server to desired without the obstacles. It is asked for some sets twice.
	Try func(without []Obstacle) (Answer, error)
	// Beside go in each trial.
	Beside []Obstacle
	// First is how many candidates are tried together after the likeliest one alone.
	First int
	// Refusal is the answer to desired as it is.
	Refusal Answer
}

// An Answer is that of the API server to a trial.
type Answer struct {
	Accepted bool
	// Refusal is the text of a refusal. The same text need not mean the same reason.
	Refusal string
}

// fewObstacles are asked about one by one, and not found by a bisection.
const fewObstacles = 8

// Enough returns some of candidates, which come in the order of their likelihood, that suffice if they go, and nil if
// all of them do not. It may return more than have to go.
func (s *Search) Enough(candidates []Obstacle) ([]Obstacle, error) {
	refused := 0
	for _, n := range []int{1, s.First, len(candidates)} {
		if n = min(n, len(candidates)); n <= refused {
			continue
		}
		switch is, err := s.accepts(candidates[:n]); {
		case err != nil:
			return nil, err
		case is && n > fewObstacles:
			return s.bisect(candidates[:n], refused)
		case is:
			return candidates[:n], nil
		}
		refused = n
	}
	return nil, nil
}

// bisect returns a few of the obstacles that suffice. All of them suffice, and the first refused ones do not.
func (s *Search) bisect(obstacles []Obstacle, refused int) ([]Obstacle, error) {
	var found []Obstacle
	for end := len(obstacles); end > 0; refused = 0 {
		for refused+1 < end {
			middle := (refused + end) / 2
			is, err := s.accepts(slices.Concat(found, obstacles[:middle]))
			switch {
			case err != nil:
				return nil, err
			case is:
				end = middle
			default:
				refused = middle
			}
		}
		end-- // without this one, the rest suffices
		found = append(found, obstacles[end])
		if is, err := s.accepts(found); is || err != nil {
			return found, err
		}
	}
	return found, nil
}

// Least returns obstacles that have to go together, of which none can stay, and nil if removing all candidates does
// not suffice.
func (s *Search) Least(candidates []Obstacle) ([]Obstacle, error) {
	enough, err := s.Enough(candidates)
	if err != nil {
		return nil, err
	}
	return s.putBack(enough)
}

// putBack returns the obstacles without those that can stay while the others go: first those around another one, then
// the least likely. It goes on until none can stay: one may need another one, as the sidecar of a mesh needs a volume
// of the mesh.
func (s *Search) putBack(obstacles []Obstacle) ([]Obstacle, error) {
	isAround := func(o Obstacle) bool {
		return slices.ContainsFunc(obstacles, func(u Obstacle) bool { return len(u.Path) > len(o.Path) && o.Contains(u.Path) })
	}
	isNotAround := func(o Obstacle) bool { return !isAround(o) }
	least := slices.Concat(slices.DeleteFunc(slices.Clone(obstacles), isAround), slices.DeleteFunc(slices.Clone(obstacles), isNotAround))
	for again := true; again; {
		again = false
		for i, stays := len(least)-1, false; i >= 0 && len(least) > 1; i-- {
			rest := slices.Delete(slices.Clone(least), i, i+1)
			is, err := s.accepts(rest)
			if err != nil {
				return nil, err
			}
			if is {
				least, again = rest, again || stays
			}
			stays = stays || !is
		}
	}
	return least, nil
}

// Needed returns those of obstacles with which desired is refused whatever else goes: all candidates, and the fixed
// fields, which may not go. If the result does not suffice, nothing shows which of the others has to go.
func (s *Search) Needed(obstacles, candidates, fixed []Obstacle) ([]Obstacle, error) {
	all := slices.Concat(candidates, fixed)
	var needed []Obstacle
	for _, o := range obstacles {
		is, err := s.isNeeded(o, all, candidates, obstacles)
		if err != nil {
			return nil, err
		}
		if is {
			needed = append(needed, o)
		}
	}
	if is, err := s.accepts(needed); !is || err != nil {
		return needed, err
	}
	return s.putBack(needed) // what only needs another field, or is around or inside one, can stay
}

// isNeeded reports whether the API server refuses desired because of o although all of a set goes. Something else may
// need what went. So the answer counts if it is the first refusal, or if the server accepts desired once o goes, too.
// Else a smaller set tells.
func (s *Search) isNeeded(o Obstacle, sets ...[]Obstacle) (bool, error) {
	for _, set := range sets {
		answer, err := s.keeping(o, set)
		if err != nil || answer.Accepted || answer == s.Refusal {
			return err == nil && !answer.Accepted, err
		}
		if is, err := s.accepts(append(slices.Clone(set), o)); is || err != nil {
			return is, err
		}
	}
	return true, nil
}

// keeping returns the answer if all of a set goes but o.
func (s *Search) keeping(o Obstacle, set []Obstacle) (Answer, error) {
	others := slices.DeleteFunc(slices.Clone(set), func(u Obstacle) bool { return u.Contains(o.Path) || o.Contains(u.Path) })
	if len(others)+len(s.Beside) == 0 {
		return s.Refusal, nil
	}
	return s.Try(slices.Concat(s.Beside, others))
}

func (s *Search) accepts(without []Obstacle) (bool, error) {
	answer, err := s.Try(slices.Concat(s.Beside, without))
	return answer.Accepted, err
}
