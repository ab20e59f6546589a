package ensure

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/ensure/internal/contest"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/canon"
)

// applyDesired applies desired to the live object with this UID.
func (c *child) applyDesired(ctx context.Context, uid types.UID, opts ...client.PatchOption) (client.Object, error) {
	body, err := c.bodyToApply(uid)
	if err != nil {
		return nil, err
	}
	c.lastApply = body
	return c.server.Apply(ctx, "apply", c.Digest, body, opts...)
}

// bodyToApply returns the apply of desired to the live object with this UID.
func (c *child) bodyToApply(uid types.UID) ([]byte, error) {
	desired, err := c.withDigest()
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(desired, c.Kind.GVK, uid, "")
	if err != nil {
		return nil, c.Subject.Unencodable(err)
	}
	return body, nil
}

// connect makes the server of a child whose desired state, key and controller are known.
func (c *child) connect() {
	c.backoff = backoff.Call{
		Table: c.attempts, Name: c.call, Child: &c.Child, Options: &c.options, Clock: c.clock,
	}
	c.contest = contest.Guard{
		Table: c.contests, Child: &c.Child, Server: &c.server, Memory: c.memory, Clock: c.clock, Older: c.Older,
	}
	c.server = server.Session{
		Client: c.client, Reader: c.reader, FieldOwner: c.Operator.FieldOwner, Kind: c.Kind, Subject: &c.Subject,
		ID: c.OwnedID(), Memory: c.memory, Like: c.Desired, Gate: &c.backoff, DryRun: c.dryRun,
	}
}
