package ensure

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/object"
)

// A session sends the requests of one call and counts them. While the call backs off, the session sends
// none, and returns the error of the last attempt.
type session struct {
	intent

	call         string
	requests     int                          // sent so far, cached reads excepted
	lastRead     client.Object                // the object as it was read last, or nil
	lastApply    []byte                       // the body of the last apply of desired, or nil
	hasInitial   bool                         // the live object was read
	initial      client.Object                // the live object at the beginning of the call, nil if there was none
	previous     *backoff.Attempt[callInputs] // the last attempt when the call began, nil if there was none
	backoffError error                        // the error of the call while it backs off
	isUndecided  bool                         // the API server could not judge the refused state
}

// beginRequest counts a request that is about to be sent. While the call backs off, it
// returns the error of the last attempt instead.
func (s *session) beginRequest() error {
	if err := s.checkBackoff(); err != nil {
		return err
	}
	s.requests++
	return nil
}

// readServer returns the object from the API server, or nil if there is none.
func (s *session) readServer(ctx context.Context) (client.Object, error) {
	if err := s.beginRequest(); err != nil {
		return nil, err
	}
	return s.get(ctx, s.reader)
}

func (s *session) get(ctx context.Context, from client.Reader, opts ...client.GetOption) (client.Object, error) {
	live := s.empty(s.desired)
	switch err := from.Get(ctx, s.key, live, opts...); {
	case err == nil:
		s.lastRead = live
		return live, nil
	case answer.IsGone(err):
		return nil, nil
	default:
		return nil, s.requestError("read", err)
	}
}

// reread returns live from the API server.
func (s *session) reread(ctx context.Context, live client.Object) (client.Object, error) {
	complete, err := s.readServer(ctx)
	if err != nil {
		return nil, err
	}
	if complete == nil || complete.GetUID() != live.GetUID() {
		return nil, s.conflictError("read", "the cache is behind", nil)
	}
	return complete, nil
}

// rereadJSON returns the object with this UID from the API server, with fields that a Go type may not
// have.
func (s *session) rereadJSON(ctx context.Context, operation string, uid types.UID) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(s.gvk)
	if err := s.beginRequest(); err != nil {
		return nil, err
	}
	switch err := s.reader.Get(ctx, s.key, live); {
	case answer.IsGone(err) || err == nil && live.GetUID() != uid:
		return nil, s.conflictError(operation, "it was replaced meanwhile", err)
	case err != nil:
		return nil, s.requestError("read", err)
	}
	return live, nil
}

// readOwner returns the metadata of the owner from the API server, and how the owner came to its end;
// empty if the owner is still there. The caller counts the request.
func (s *session) readOwner(ctx context.Context) (current *metav1.PartialObjectMetadata, end string, err error) {
	current = &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: s.controller.APIVersion, Kind: s.controller.Kind},
	}
	switch err := s.reader.Get(ctx, client.ObjectKeyFromObject(s.owner), current); {
	case answer.IsGone(err):
		return nil, "is gone", nil
	case err != nil:
		return nil, "", err
	case s.owner.GetUID() != "" && current.GetUID() != s.owner.GetUID():
		return nil, "was replaced meanwhile", nil
	case current.GetDeletionTimestamp() != nil:
		return nil, "is being deleted", nil
	}
	return current, "", nil
}

// applyDesired applies desired to the live object with this UID.
func (s *session) applyDesired(ctx context.Context, uid types.UID, opts ...client.PatchOption) (client.Object, error) {
	body, err := s.bodyToApply(uid)
	if err != nil {
		return nil, err
	}
	s.lastApply = body
	return s.applyBody(ctx, "apply", body, opts...)
}

// bodyToApply returns the apply of desired to the live object with this UID.
func (s *session) bodyToApply(uid types.UID) ([]byte, error) {
	desired, err := s.withDigest()
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(desired, s.gvk, uid, "")
	if err != nil {
		return nil, s.unencodableError(err)
	}
	return body, nil
}

// applyBody sends an apply, by force. The API server refuses nulls that the schema of a custom kind does not
// allow, while a create leaves them out by itself. So the apply is sent again without them, and later applies of
// the same desired state are sent without them at once. In a list, which may be merged with live's, they go from
// every item: all have the same schema.
func (s *session) applyBody(
	ctx context.Context, operation string, body []byte, opts ...client.PatchOption,
) (client.Object, error) {
	opts = append(opts, client.ForceOwnership)
	known, _ := s.memory.Nulls.Get(s.ownedID())
	if known.Digest != s.digest {
		known = memory.Nulls{Digest: s.digest}
	} else if rest := canon.WithoutNulls(body, known.Fields); rest != nil {
		body = rest
	}
	applied, err := s.patch(ctx, operation, types.ApplyPatchType, body, opts...)
	refused := withoutIndexes(answer.Nulls(err))
	if len(refused) == 0 {
		return applied, err
	}
	rest := canon.WithoutNulls(body, refused)
	if rest == nil {
		return nil, err
	}
	known.Fields = slices.Concat(known.Fields, refused)
	s.memory.Nulls.Set(s.ownedID(), known)
	return s.patch(ctx, operation, types.ApplyPatchType, rest, opts...)
}

// patch sends a patch and returns the server's answer.
func (s *session) patch(
	ctx context.Context, operation string, form types.PatchType, patch []byte, opts ...client.PatchOption,
) (client.Object, error) {
	if err := s.beginRequest(); err != nil {
		return nil, err
	}
	s.memory.Absent.Remove(s.id()) // also if no answer comes
	answer := s.empty(s.desired)
	answer.SetNamespace(s.key.Namespace)
	answer.SetName(s.key.Name)
	opts = append([]client.PatchOption{client.FieldOwner(s.fieldOwner)}, opts...)
	if form == types.ApplyPatchType {
		patch = canon.YAML(patch)
	}
	if s.dryRun {
		opts = append(opts, client.DryRunAll, client.DisableReadYourWritesConsistency)
	}
	if object.IsPatchMisrecorded(answer) {
		opts = append(opts, client.DisableReadYourWritesConsistency)
	}
	if err := s.client.Patch(ctx, answer, client.RawPatch(form, patch), opts...); err != nil {
		return nil, s.requestError(operation, err)
	}
	return answer, nil
}

func (s *session) patchJSON(
	ctx context.Context, operation string, operations []jsonpatch.Operation, opts ...client.PatchOption,
) (client.Object, error) {
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, s.unencodableError(err)
	}
	return s.patch(ctx, operation, types.JSONPatchType, patch, opts...)
}

// dryRunCreate has the API server create candidate by a dry run. The API server checks last whether the
// object exists, so the error for an existing object means that all other checks passed.
func (s *session) dryRunCreate(ctx context.Context, candidate *unstructured.Unstructured) error {
	if err := s.beginRequest(); err != nil {
		return err
	}
	err := s.client.Create(ctx, candidate.DeepCopy(),
		client.DryRunAll, client.FieldOwner(s.fieldOwner), client.DisableReadYourWritesConsistency)
	if answer.IsThere(err) {
		return nil
	}
	return err
}

// checkBackoff returns the error of the last attempt of the same call, until it may be sent again.
// An attempt that has begun goes on.
func (s *session) checkBackoff() error {
	if s.requests > 0 || s.dryRun {
		return nil
	}
	known, ok := s.lastAttempt()
	if !ok {
		return nil
	}
	s.previous = new(known)
	left := known.Left(s.isInitialContent, s.clock.Now())
	failed, ok := errors.AsType[*Error](known.Err)
	if left <= 0 || !ok {
		return nil
	}
	again := *failed
	again.After, again.isKnown = left, true
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
	failed, ok := errors.AsType[*Error](err)
	switch {
	case s.dryRun:
	case err == nil:
		s.endBackoff()
	case s.backoffError != nil:
		return s.backoffError
	case !ok || errors.Is(err, context.Canceled):
	case errors.Is(err, ErrContested):
		failed.isKnown = s.requests == 0
	case s.requests == 0:
		failed.isKnown = s.attempts.NoteRepeat(s.attemptKey(), s.callInputs(), failed, s.clock.Now())
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
	if s.requests > 0 || was.digest == now.digest && was.options == now.options {
		s.attempts.Remove(s.attemptKey())
	}
}

// noteFailure remembers an error and returns how long to wait.
func (s *session) noteFailure(err *Error) time.Duration {
	content, _ := s.initialContent()
	return s.attempts.NoteFailure(s.attemptKey(), s.callInputs(), backoff.Failure{
		Err: err, Requests: s.requests, Content: content,
		IsRace: isRace(err), IsTerminating: errors.Is(err, ErrTerminating), IsFinal: s.isFinal(err),
		IsBusy: s.isUndecided || errors.Is(err, ErrAPI) && !answer.IsFinal(err) && !apierrors.IsConflict(err),
	}, s.previous, s.clock.Now())
}

// noteReadFailure counts a failed read as a request if the API server answered it: a cache
// does not.
func (s *session) noteReadFailure(err error) {
	if _, ok := answer.Status(err); ok {
		s.requests++
	}
}

// isRace reports whether err may be over as soon as the cache shows the object as it is by now: a
// conflict, or an object that turned out to be foreign or to be deleted.
func isRace(err error) bool {
	_, isAnswer := answer.Status(err)
	return isChangedSinceRead(err) || errors.Is(err, ErrForeign) || errors.Is(err, ErrTerminating) && !isAnswer
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
		return s.requests > 1 && !s.isUndecided && (!isAnswer || namesFieldsOnly(err))
	}
	return false
}

// The calls that back off independently of each other.
const (
	callEnsure = ""
	callAbsent = "absent"
	callPrune  = "prune"
)

// A lazyTimeout is a context that is cancelled a while after the first wait for it begins. A read that a
// cache answers at once, as most are, never waits, and costs no timer.
//
// It has no deadline, because the rate limiter of client-go refuses at once to wait longer than a
// deadline allows.
type lazyTimeout struct {
	context.Context //nolint:containedctx // the caller's, which this one is until the wait begins

	wait    time.Duration
	once    sync.Once
	started atomic.Pointer[startedTimeout]
}

type startedTimeout struct {
	ctx  context.Context //nolint:containedctx // a lazyTimeout is a context itself
	stop func()
}

func newLazyTimeout(ctx context.Context, wait time.Duration) *lazyTimeout {
	return &lazyTimeout{Context: ctx, wait: wait}
}

// Done begins the wait.
func (p *lazyTimeout) Done() <-chan struct{} {
	p.once.Do(func() {
		ctx, cancel := context.WithCancel(p.Context)
		timer := time.AfterFunc(p.wait, cancel) //nolint:forbidigo // it ends a wait in real time
		p.started.Store(&startedTimeout{ctx: ctx, stop: func() { timer.Stop(); cancel() }})
	})
	return p.started.Load().ctx.Done()
}

// Err returns the error of the current wait.
func (p *lazyTimeout) Err() error { return p.current().Err() }

// Value lets contexts derived from this one find that they can be told without a
// goroutine of their own.
func (p *lazyTimeout) Value(key any) any { return p.current().Value(key) }

func (p *lazyTimeout) current() context.Context {
	if begun := p.started.Load(); begun != nil {
		return begun.ctx
	}
	return p.Context
}

// hasExpired reports whether err came of the wait, and not of the caller's context.
func (p *lazyTimeout) hasExpired(caller context.Context, err error) bool {
	return err != nil && caller.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || p.Err() != nil)
}

// stop stops the timer.
func (p *lazyTimeout) stop() {
	if begun := p.started.Load(); begun != nil {
		begun.stop()
	}
}
