package ensure

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/contest"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/canon"
)

// A session is an intent with what it takes to send its requests. While the call backs off, none is sent, and the error of
// the last attempt is returned.
type session struct {
	intent

	call        string
	server      server.Session
	lastApply   []byte // the body of the last apply of desired, or nil
	backoff     backoff.Call
	contest     contest.Guard
	isUndecided bool // the API server could not judge the refused state
}

// applyDesired applies desired to the live object with this UID.
func (s *session) applyDesired(ctx context.Context, uid types.UID, opts ...client.PatchOption) (client.Object, error) {
	body, err := s.bodyToApply(uid)
	if err != nil {
		return nil, err
	}
	s.lastApply = body
	return s.server.Apply(ctx, "apply", s.Digest, body, opts...)
}

// bodyToApply returns the apply of desired to the live object with this UID.
func (s *session) bodyToApply(uid types.UID) ([]byte, error) {
	desired, err := s.withDigest()
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(desired, s.Kind.GVK, uid, "")
	if err != nil {
		return nil, s.Subject.Unencodable(err)
	}
	return body, nil
}

// connect makes the server of a child whose desired state, key and controller are known.
func (c *child) connect() {
	c.backoff = backoff.Call{
		Table: c.attempts, Key: backoff.Key{OwnedKey: c.OwnedID(), Call: c.call}, Caller: c, Clock: c.clock, DryRun: c.dryRun,
	}
	c.contest = contest.Guard{
		Table: c.contests, Child: &c.Child, Server: &c.server, Memory: c.memory, Clock: c.clock, Older: c.migrateFrom,
	}
	c.server = server.Session{
		Client: c.client, Reader: c.reader, FieldOwner: c.Operator.FieldOwner, Kind: c.Kind, Subject: &c.Subject,
		ID: c.OwnedID(), Memory: c.memory, Like: c.Desired, Gate: &c.backoff, DryRun: c.dryRun,
	}
}

// Arguments implements backoff.Caller.
func (s *session) Arguments() (digest string, options any) {
	allowed := writeOptions{
		recreate: s.recreate, named: s.recreateNamed, onDrift: s.onDrift,
		adopt: s.adopt, deleteAdopted: s.deleteAdopted, ifExists: s.ifExists, ifMissing: s.ifMissing,
		overwrite: s.overwriteData, handover: s.handover(), propagation: s.propagation,
	}
	if s.call == callPrune {
		allowed.generation = s.owner.GetGeneration()
	}
	return s.Digest, allowed
}

// Fingerprint implements backoff.Caller.
func (s *session) Fingerprint(live client.Object) (string, bool) { return s.fingerprint(live) }

// handover names the options by which fields change their owner.
func (s *session) handover() string {
	if !s.changesOwnership() {
		return ""
	}
	return strings.Join(slices.Concat(s.migrateFrom, []string{""}, s.release, []string{""}, s.once, []string{""}, s.retire), "\n")
}

// The calls that back off independently of each other.
const (
	callEnsure = ""
	callAbsent = "absent"
	callPrune  = "prune"
)
