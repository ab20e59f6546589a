package server

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// LoadKnown looks up the last confirmed state of the child. Without one, Known is empty.
func (s *Session) LoadKnown() { s.Known = s.Memory.Record(s.Child.OwnedID()) }

// Record returns the record of live, and whether there is one.
func (s *Session) Record(live client.Object) (memory.Record, bool) {
	return s.Known, s.Known.Digest != "" && s.Known.UID == live.GetUID()
}

// IsRemembered reports whether live is the object that is known. This also covers a kubectl replace, which leaves neither
// digest nor owner nor managed fields of ours.
func (s *Session) IsRemembered(live client.Object) bool {
	_, ok := s.Record(live)
	return ok
}

// IsOutdated reports whether live is older than our own last write.
func (s *Session) IsOutdated(live client.Object) bool {
	known, ok := s.Record(live)
	return ok && known.IsNewerThan(live.GetResourceVersion())
}

// IsStale reports whether live is a cached copy that is older than the last answer of the API server to
// this desired state, or a copy of an object that existed before. Differences are no drift then.
func (s *Session) IsStale(live client.Object, now time.Time) bool {
	return s.Known.Digest == s.Child.Digest && s.Known.IsNewerThan(live.GetResourceVersion()) && now.Sub(s.Known.At) < memory.MaxLag
}

// ReadMissing reads an object that the cache does not show from the API server, if this process created or changed the child
// lately, or the API server had the object before: the cache lags, or leaves the child out, or somebody deleted the child.
func (s *Session) ReadMissing(ctx context.Context, now time.Time) (client.Object, error) {
	s.LoadKnown()
	isExpected := s.Known.UID != "" && !s.Known.Shown && now.Sub(s.Known.At) < memory.MaxLag
	if !isExpected && !s.Memory.IsHidden(s.Child.ID()) {
		return nil, nil
	}
	s.IsCacheBehind = true
	live, err := s.ReadServer(ctx)
	if err == nil && live == nil {
		s.Memory.ForgetHidden(s.Child.ID())
	}
	return live, err
}

// NoteShown remembers that the cache has shown live. If the cache shows the object no longer, the
// object was deleted.
func (s *Session) NoteShown(live client.Object) {
	if known, ok := s.Record(live); ok && !known.Shown && !s.IsCacheBehind {
		s.Known.Shown = true
		s.Memory.Confirm(s.Child.OwnedID(), s.Known)
	}
}

// Complete returns live with its managed fields, from the API server if the cache may have stripped them.
func (s *Session) Complete(ctx context.Context, live client.Object) (client.Object, error) {
	if managedfields.HasAny(live) {
		return live, nil
	}
	return s.Reread(ctx, live)
}

// Current returns live with its managed fields, as new as our last answer or newer. From an older copy,
// fields that became ours since would not be given up, and the apply would remove them.
func (s *Session) Current(ctx context.Context, live client.Object) (client.Object, error) {
	if s.IsOutdated(live) {
		return s.Reread(ctx, live)
	}
	return s.Complete(ctx, live)
}
