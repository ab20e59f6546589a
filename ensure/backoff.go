package ensure

import (
	"errors"

	"github.com/trueup-go/trueup/internal/answer"
)

// The calls that back off independently of each other.
const (
	callEnsure = ""
	callAbsent = "absent"
	callPrune  = "prune"
)

// isRace reports whether err may be over as soon as the cache shows the object as it is by now: a
// conflict, or an object that turned out to be foreign or to be deleted.
func isRace(err error) bool {
	_, isAnswer := answer.Status(err)
	return hasMoved(err) || errors.Is(err, ErrForeign) || errors.Is(err, ErrTerminating) && !isAnswer
}
