package ensure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
)

// A session is an intent with what it takes to send its requests. While the call backs off, none is sent, and the error of
// the last attempt is returned.
type session struct {
	intent

	call         string
	server       server.Session
	lastApply    []byte                       // the body of the last apply of desired, or nil
	hasInitial   bool                         // the live object was read
	initial      client.Object                // the live object at the beginning of the call, nil if there was none
	previous     *backoff.Attempt[callInputs] // the last attempt when the call began, nil if there was none
	backoffError error                        // the error of the call while it backs off
	isUndecided  bool                         // the API server could not judge the refused state
}

// applyDesired applies desired to the live object with this UID.
func (s *session) applyDesired(ctx context.Context, uid types.UID, opts ...client.PatchOption) (client.Object, error) {
	body, err := s.bodyToApply(uid)
	if err != nil {
		return nil, err
	}
	s.lastApply = body
	return s.server.Apply(ctx, "apply", s.digest, body, opts...)
}

// bodyToApply returns the apply of desired to the live object with this UID.
func (s *session) bodyToApply(uid types.UID) ([]byte, error) {
	desired, err := s.withDigest()
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(desired, s.kind.GVK, uid, "")
	if err != nil {
		return nil, s.subject.Unencodable(err)
	}
	return body, nil
}

// connect makes the server of a child whose desired state, key and controller are known.
func (c *child) connect() {
	c.server = server.Session{
		Client: c.client, Reader: c.reader, FieldOwner: c.fieldOwner, Kind: c.kind, Subject: &c.subject,
		ID: c.ownedID(), Memory: c.memory, Like: c.desired, Gate: c, DryRun: c.dryRun,
	}
}

// Allow returns the error of the last attempt of the same call, until it may be sent again.
func (s *session) Allow() error {
	known, ok := s.lastAttempt()
	if !ok {
		return nil
	}
	s.previous = new(known)
	left := known.Left(s.isInitialContent, s.clock.Now())
	failed, ok := errors.AsType[*fault.Error](known.Err)
	if left <= 0 || !ok {
		return nil
	}
	again := *failed
	again.After, again.IsKnown = left, true
	s.backoffError = &again
	return s.backoffError
}

// lastAttempt returns the last attempt of the same call.
func (s *session) lastAttempt() (backoff.Attempt[callInputs], bool) {
	known, ok := s.attempts.Get(s.attemptKey())
	return known, ok && known.Counts(s.callInputs(), s.clock.Now())
}

func (s *session) attemptKey() backoff.Key { return backoff.Key{OwnedKey: s.ownedID(), Call: s.call} }

func (s *session) callInputs() callInputs {
	asked := callInputs{isRead: s.hasInitial, digest: s.digest, options: writeOptions{
		recreate: s.recreate, named: s.recreateNamed, onDrift: s.onDrift,
		adopt: s.adopt, deleteAdopted: s.deleteAdopted, ifExists: s.ifExists, ifMissing: s.ifMissing,
		overwrite: s.overwriteData, handover: s.handover(),
	}}
	if s.call != callEnsure {
		asked.options.propagation = s.propagation // else replaceWhole sets it
	}
	if s.call == callPrune {
		asked.options.generation = s.owner.GetGeneration()
	}
	if s.initial != nil {
		asked.uid = s.initial.GetUID()
	}
	return asked
}

// handover names the options by which fields change their owner.
func (s *session) handover() string {
	if !s.changesOwnership() {
		return ""
	}
	return strings.Join(slices.Concat(s.migrateFrom, []string{""}, s.release, []string{""}, s.once, []string{""}, s.retire), "\n")
}

// noteInitial notes the live object with which a call begins, nil if there is none.
func (s *session) noteInitial(live client.Object) { s.hasInitial, s.initial = true, live }

// isInitialContent reports whether the live object had this content at the beginning of the call.
func (s *session) isInitialContent(content string) bool {
	now, ok := s.initialContent()
	return ok && now == content
}

// initialContent returns the fingerprint of the live object as the cache showed it; false if a change
// would not be noticed.
func (s *session) initialContent() (string, bool) {
	if s.initial == nil {
		return "", true
	}
	return s.fingerprint(s.initial)
}

// failedBefore reports whether the last attempt failed at a request.
func (s *session) failedBefore() bool { return s.previous != nil && s.previous.Count > 0 }

// endCall notes the end of a call for the backoff, and returns the error of the call.
func (s *session) endCall(err error) error {
	failed, ok := errors.AsType[*fault.Error](err)
	switch {
	case s.dryRun:
	case err == nil:
		s.endBackoff()
	case s.backoffError != nil:
		return s.backoffError
	case !ok || errors.Is(err, context.Canceled):
	case errors.Is(err, ErrContested):
		failed.IsKnown = s.server.Requests == 0
	case s.server.Requests == 0:
		failed.IsKnown = s.attempts.NoteRepeat(s.attemptKey(), s.callInputs(), failed, s.clock.Now())
	default:
		failed.After = s.noteFailure(failed)
	}
	return err
}

// endBackoff forgets the last attempt after a success. A success without a request says nothing about
// a call that allows something else.
func (s *session) endBackoff() {
	known, ok := s.attempts.Get(s.attemptKey())
	if !ok {
		return
	}
	was, now := known.Question, s.callInputs()
	if s.server.Requests > 0 || was.digest == now.digest && was.options == now.options {
		s.attempts.Remove(s.attemptKey())
	}
}

// noteFailure remembers an error and returns how long to wait.
func (s *session) noteFailure(err *fault.Error) time.Duration {
	content, _ := s.initialContent()
	return s.attempts.NoteFailure(s.attemptKey(), s.callInputs(), backoff.Failure{
		Err: err, Requests: s.server.Requests, Content: content,
		IsRace: isRace(err), IsTerminating: errors.Is(err, ErrTerminating), IsFinal: s.isFinal(err),
		IsBusy: s.isUndecided || errors.Is(err, ErrAPI) && !answer.IsFinal(err) && !apierrors.IsConflict(err),
	}, s.previous, s.clock.Now())
}

// isRace reports whether err may be over as soon as the cache shows the object as it is by now: a
// conflict, or an object that turned out to be foreign or to be deleted.
func isRace(err error) bool {
	_, isAnswer := answer.Status(err)
	return fault.IsRace(err) || errors.Is(err, ErrForeign) || errors.Is(err, ErrTerminating) && !isAnswer
}

// isFinal reports whether another attempt would fail as well, unless a person acts. Such a failure
// begins with the longest wait. A refusal that costs one request only is tried more often.
func (s *session) isFinal(err error) bool {
	_, isAnswer := answer.Status(err)
	switch {
	case errors.Is(err, ErrHidden):
		return true
	case errors.Is(err, ErrForeign):
		return s.initial != nil // else the cache does not show when the object is gone
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrImmutable), errors.Is(err, ErrRefused):
		return s.server.Requests > 1 && !s.isUndecided && (!isAnswer || fault.NamesFieldsOnly(err))
	}
	return false
}

// The calls that back off independently of each other.
const (
	callEnsure = ""
	callAbsent = "absent"
	callPrune  = "prune"
)
