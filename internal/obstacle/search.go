package obstacle

import (
	"slices"
)

// A Search finds the obstacles that have to go, by trials. It takes an obstacle only if desired is refused
// with the obstacle whatever else of others goes.
type Search struct {
	// Try returns the answer of the API server to desired without the obstacles.
	Try func(without []Obstacle) (Answer, error)
	// Beside go in each trial.
	Beside []Obstacle
}

// An Answer is that of the API server to a trial.
type Answer struct {
	Accepted bool
	// Refusal is the same for two refusals for the same reason.
	Refusal string
}

// maxPrefix is the longest prefix of which each obstacle is tried to be put back without a bisection before.
const maxPrefix = 8

// Least returns obstacles that have to go together, of which none can stay, and nil if removing all candidates
// does not suffice. The candidates come in the order of their likelihood. first is how many are tried together
// after the first one alone.
//
// A trial without more obstacles may be refused although one without fewer was accepted: the sidecar of a mesh
// needs a volume of the mesh. So what a bisection finds is put back one by one, too, and again from the start
// after each success.
func (s *Search) Least(candidates []Obstacle, first int) ([]Obstacle, error) {
	refused, accepted, err := s.prefix(candidates, first)
	if err != nil || accepted == 0 {
		return nil, err
	}
	least := candidates[:accepted]
	if len(least) > maxPrefix {
		if least, err = s.bisect(least, refused); err != nil {
			return nil, err
		}
	}
	return s.putBack(least)
}

// prefix returns how many of the first candidates do not suffice, and how many do, 0 if all of them do not.
func (s *Search) prefix(candidates []Obstacle, first int) (refused, accepted int, err error) {
	for _, n := range []int{1, first, maxPrefix, len(candidates)} {
		if n = min(n, len(candidates)); n <= refused {
			continue
		}
		switch is, err := s.accepts(candidates[:n]); {
		case err != nil:
			return 0, 0, err
		case is:
			return refused, n, nil
		}
		refused = n
	}
	return refused, 0, nil
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

// putBack returns the obstacles without those that can stay, the least likely first.
func (s *Search) putBack(obstacles []Obstacle) ([]Obstacle, error) {
	least := slices.Clone(obstacles)
	for i := len(least) - 1; i >= 0 && len(least) > 1; i-- {
		rest := without(least, i)
		is, err := s.accepts(rest)
		if err != nil {
			return nil, err
		}
		if is {
			least, i = rest, len(rest)
		}
	}
	return least, nil
}

// Needed returns those of the least obstacles with which desired is refused whatever else goes. candidates and
// fixed are all obstacles that may go, and those that may not. refusal is the first answer.
func (s *Search) Needed(least, candidates, fixed []Obstacle, refusal Answer) ([]Obstacle, error) {
	var needed []Obstacle
	for _, o := range least {
		is, err := s.isNeeded(o, [][]Obstacle{slices.Concat(candidates, fixed), candidates, least}, refusal)
		if err != nil {
			return nil, err
		}
		if is {
			needed = append(needed, o)
		}
	}
	return needed, nil
}

// isNeeded reports whether the API server refuses desired because of o although all of a set goes. The answer
// counts if it is the first refusal again, or if the server accepts desired once o goes, too: something else may
// need what went. Then a smaller set tells.
func (s *Search) isNeeded(o Obstacle, sets [][]Obstacle, refusal Answer) (bool, error) {
	for _, set := range sets {
		others := slices.DeleteFunc(slices.Clone(set), func(u Obstacle) bool { return u.Contains(o.Path) || o.Contains(u.Path) })
		answer := refusal
		if len(others)+len(s.Beside) > 0 {
			var err error
			if answer, err = s.Try(slices.Concat(s.Beside, others)); err != nil {
				return false, err
			}
		}
		if answer.Accepted || answer == refusal {
			return !answer.Accepted, nil
		}
		if is, err := s.accepts(append(others, o)); is || err != nil {
			return is, err
		}
	}
	return true, nil
}

func (s *Search) accepts(without []Obstacle) (bool, error) {
	answer, err := s.Try(slices.Concat(s.Beside, without))
	return answer.Accepted, err
}

func without(obstacles []Obstacle, i int) []Obstacle {
	return slices.Delete(slices.Clone(obstacles), i, i+1)
}
