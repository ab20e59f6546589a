package ensure

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/backoff"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/jsonpatch"
)

// A session sends the requests of one call and counts them. While the call backs off, the session sends
// none, and returns the error of the last attempt.
type session struct {
	intent

	call     string
	requests int           // sent so far, cached reads excepted
	seen     client.Object // the object as it was read last, or nil
	isRead   bool
	shown    client.Object              // the live object at the beginning of the call, nil if there was none
	before   *backoff.Attempt[question] // the last one when the call began; nil if there was none
	answered error                      // the error of the call while it backs off
	unsure   bool                       // the API server could not judge the refused state
}

func (s *session) get(ctx context.Context, from client.Reader, opts ...client.GetOption) (client.Object, error) {
	live := s.empty(s.desired)
	switch err := from.Get(ctx, s.key, live, opts...); {
	case err == nil:
		s.seen = live
		return live, nil
	case answer.IsGone(err):
		return nil, nil
	default:
		return nil, s.requestError("read", err)
	}
}

// readServer returns the object from the API server, or nil if there is none.
func (s *session) readServer(ctx context.Context) (client.Object, error) {
	if err := s.ask(); err != nil {
		return nil, err
	}
	return s.get(ctx, s.reader)
}

// reread returns live from the API server.
func (s *session) reread(ctx context.Context, live client.Object) (client.Object, error) {
	complete, err := s.readServer(ctx)
	if err != nil {
		return nil, err
	}
	if complete == nil || complete.GetUID() != live.GetUID() {
		return nil, s.conflict("read", "the cache is behind", nil)
	}
	return complete, nil
}

// rereadJSON returns the object with this UID from the API server, with fields that a Go type may not
// have.
func (s *session) rereadJSON(ctx context.Context, operation string, uid types.UID) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(s.gvk)
	if err := s.ask(); err != nil {
		return nil, err
	}
	switch err := s.reader.Get(ctx, s.key, live); {
	case answer.IsGone(err) || err == nil && live.GetUID() != uid:
		return nil, s.conflict(operation, "it was replaced meanwhile", err)
	case err != nil:
		return nil, s.requestError("read", err)
	}
	return live, nil
}

// send applies desired by force. Answer and request are of the caller's Go type, so
// that a client which waits for its own writes waits for this one.
func (s *session) send(
	ctx context.Context, operation string, desired canon.Object, uid types.UID, version string, opts ...client.PatchOption,
) (client.Object, error) {
	body, err := canon.Body(desired, s.gvk, uid, version)
	if err != nil {
		return nil, s.unfit(err)
	}
	return s.applyBody(ctx, operation, body, opts...)
}

// sendApply applies desired to the live object with this UID.
func (s *session) sendApply(ctx context.Context, uid types.UID, opts ...client.PatchOption) (client.Object, error) {
	desired, err := s.part()
	if err != nil {
		return nil, err
	}
	return s.send(ctx, "apply", desired, uid, "", opts...)
}

// applyBody sends an apply, and sends it again without the nulls that the schema of a custom
// kind does not allow: a create leaves those out by itself, an apply is refused. In a list,
// which may be merged with live's, they go from every item: all have the same schema.
func (s *session) applyBody(
	ctx context.Context, operation string, body []byte, opts ...client.PatchOption,
) (client.Object, error) {
	opts = append(opts, client.ForceOwnership)
	applied, err := s.patch(ctx, operation, types.ApplyPatchType, body, opts...)
	refused := answer.Nulls(err)
	if len(refused) == 0 {
		return applied, err
	}
	rest := canon.WithoutNulls(body, withoutIndexes(refused))
	if rest == nil {
		return nil, err
	}
	return s.patch(ctx, operation, types.ApplyPatchType, rest, opts...)
}

// patch sends a patch and returns the server's answer.
func (s *session) patch(
	ctx context.Context, operation string, form types.PatchType, patch []byte, opts ...client.PatchOption,
) (client.Object, error) {
	if err := s.ask(); err != nil {
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
	if _, ok := answer.(runtime.Unstructured); ok {
		// controller-runtime 0.25 books patches of unstructured objects under the typed
		// representation, where nobody waits for them.
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
		return nil, s.unfit(err)
	}
	return s.patch(ctx, operation, types.JSONPatchType, patch, opts...)
}

// tryCreate has the API server create candidate by a dry run. The API server checks last whether the
// object exists, so the error for an existing object means that all other checks passed.
func (s *session) tryCreate(ctx context.Context, candidate *unstructured.Unstructured) error {
	if err := s.ask(); err != nil {
		return err
	}
	err := s.client.Create(ctx, candidate.DeepCopy(),
		client.DryRunAll, client.FieldOwner(s.fieldOwner), client.DisableReadYourWritesConsistency)
	if answer.IsThere(err) {
		return nil
	}
	return err
}
