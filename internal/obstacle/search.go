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
	// Refusal is the same for two refusals for the same reason.
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
	return s.putBack(enough, nil)
}

// putBack returns the obstacles without those that can stay while others go, too, the least likely first. It goes on
// until none can stay: one may need another one, as the sidecar of a mesh needs a volume of the mesh.
func (s *Search) putBack(obstacles, others []Obstacle) ([]Obstacle, error) {
	least := slices.Clone(obstacles)
	for again := true; again; {
		again = false
		for i, stays := len(least)-1, false; i >= 0 && len(least)+len(others) > 1; i-- {
			rest := slices.Delete(slices.Clone(least), i, i+1)
			is, err := s.accepts(slices.Concat(others, rest))
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
	var needed, unclear []Obstacle
	for _, o := range obstacles {
		switch answer, err := s.keeping(o, all); {
		case err != nil:
			return nil, err
		case answer == s.Refusal:
			needed = append(needed, o)
		case !answer.Accepted:
			unclear = append(unclear, o)
		}
	}
	if len(unclear) == 0 {
		return needed, nil
	}
	if is, err := s.accepts(slices.Concat(needed, unclear)); !is || err != nil {
		return needed, err
	}
	unclear, err := s.putBack(unclear, needed)
	if err != nil {
		return nil, err
	}
	for _, o := range unclear {
		is, err := s.isNeeded(o, all, candidates, obstacles)
		if err != nil {
			return nil, err
		}
		if is {
			needed = append(needed, o)
		}
	}
	return needed, nil
}

// isNeeded reports whether the API server refuses desired because of o although all of a set goes. Something else may
// need what went. So the answer counts if the server accepts desired once o goes, too, and else a smaller set tells.
func (s *Search) isNeeded(o Obstacle, sets ...[]Obstacle) (bool, error) {
	for _, set := range sets {
		answer, err := s.keeping(o, set)
		if answer.Accepted || err != nil {
			return false, err
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
