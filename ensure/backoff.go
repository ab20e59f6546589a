package ensure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
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

// ask counts a request that is about to be sent. While the call backs off, ask returns the error of
// the last attempt instead.
func (s *session) ask() error {
	if err := s.backsOff(); err != nil {
		return err
	}
	s.requests++
	return nil
}

func (s *session) attemptKey() backoff.Key { return backoff.Key{OwnedKey: s.ownedID(), Call: s.call} }

// backsOff returns the error of the last attempt of the same call, until it may be sent again.
// An attempt that has begun goes on.
func (s *session) backsOff() error {
	if s.requests > 0 || s.dryRun {
		return nil
	}
	known, ok := s.lastAttempt()
	if !ok {
		return nil
	}
	s.before = new(known)
	left := known.Left(s.shows, s.clock.Now())
	failed, ok := errors.AsType[*Error](known.Err)
	if left <= 0 || !ok {
		return nil
	}
	again := *failed
	again.After, again.isKnown = left, true
	s.answered = &again
	return s.answered
}

// contentShown returns the fingerprint of the live object as the cache showed it; false if a change
// would not be noticed.
func (s *session) contentShown() (string, bool) {
	if s.shown == nil {
		return "", true
	}
	return s.fingerprint(s.shown)
}

// endBackoff forgets the last attempt after a success. A success without a request says nothing about
// a call that allows something else.
func (s *session) endBackoff() {
	known, ok := s.attempts.Get(s.attemptKey())
	if !ok {
		return
	}
	was, now := known.Question, s.question()
	if s.requests > 0 || was.digest == now.digest && was.allowed == now.allowed {
		s.attempts.Remove(s.attemptKey())
	}
}

// ended notes the end of a call for the backoff, and returns the error of the call.
func (s *session) ended(err error) error {
	failed, ok := errors.AsType[*Error](err)
	switch {
	case s.dryRun:
	case err == nil:
		s.endBackoff()
	case s.answered != nil:
		return s.answered
	case !ok || errors.Is(err, context.Canceled):
	case errors.Is(err, ErrContested):
		failed.isKnown = s.requests == 0
	case s.requests == 0:
		failed.isKnown = s.attempts.NoteRepeat(s.attemptKey(), s.question(), failed, s.clock.Now())
	default:
		failed.After = s.noteFailure(failed)
	}
	return err
}

// failedBefore reports whether the last attempt failed at a request.
func (s *session) failedBefore() bool { return s.before != nil && s.before.Count > 0 }

// isFinal reports whether another attempt would fail as well, unless a person acts. Such a failure
// begins with the longest wait. A refusal that costs one request only is tried more often.
func (s *session) isFinal(err error) bool {
	_, isAnswer := answer.Status(err)
	switch {
	case errors.Is(err, ErrHidden):
		return true
	case errors.Is(err, ErrForeign):
		return s.shown != nil // else the cache does not show when the object is gone
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrImmutable), errors.Is(err, ErrRefused):
		return s.requests > 1 && !s.unsure && (!isAnswer || namesFieldsOnly(err))
	}
	return false
}

// lastAttempt returns the last attempt of the same call.
func (s *session) lastAttempt() (backoff.Attempt[question], bool) {
	known, ok := s.attempts.Get(s.attemptKey())
	return known, ok && known.Counts(s.question(), s.clock.Now())
}

// noteFailure remembers an error and returns how long to wait.
func (s *session) noteFailure(err *Error) time.Duration {
	content, _ := s.contentShown()
	return s.attempts.NoteFailure(s.attemptKey(), s.question(), backoff.Failure{
		Err: err, Requests: s.requests, Content: content,
		IsRace: isRace(err), IsTerminating: errors.Is(err, ErrTerminating), IsFinal: s.isFinal(err),
		IsBusy: s.unsure || errors.Is(err, ErrAPI) && !answer.IsFinal(err) && !apierrors.IsConflict(err),
	}, s.before, s.clock.Now())
}

// noteReadFailure counts a failed read as a request if the API server answered it: a cache
// does not.
func (s *session) noteReadFailure(err error) {
	if _, ok := answer.Status(err); ok {
		s.requests++
	}
}

func (s *session) question() question {
	asked := question{isRead: s.isRead, digest: s.digest, allowed: permission{
		recreate: s.recreate, named: s.recreateNamed, onDrift: s.onDrift,
		adopt: s.adopt, deleteAdopted: s.deleteAdopted, ifExists: s.ifExists, ifMissing: s.ifMissing,
		fromPods: s.removeFromPods, handover: strings.Join(slices.Concat(s.migrateFrom, []string{""}, s.release), "\n"),
	}}
	if s.call != callEnsure {
		asked.allowed.propagation = s.propagation // else replaceWhole sets it
	}
	if s.call == callPrune {
		asked.allowed.generation = s.owner.GetGeneration()
	}
	if s.shown != nil {
		asked.uid = s.shown.GetUID()
	}
	return asked
}

// show notes the live object with which a call begins, nil if there is none.
func (s *session) show(live client.Object) { s.isRead, s.shown = true, live }

// shows reports whether the live object still has this content.
func (s *session) shows(content string) bool {
	now, ok := s.contentShown()
	return ok && now == content
}
