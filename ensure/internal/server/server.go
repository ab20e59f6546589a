// Package server sends the requests of a pass to the API server: it encodes desired, counts requests, bounds reads that may
// wait for ever, makes dry runs, and returns failures as errors of package fault.
package server

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/internal/jsonpatch"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/object"
)

// readWait limits a read that waits for our own write to reach the cache
// (EnableReadYourWritesConsistency). A cache whose selector leaves the object out never shows
// the write.
const readWait = 5 * time.Second

// attempts bounds the tries beside others who write at the same time.
const attempts = 5

// A Session sends the requests of one call about one child. If the child is ensured by a dry run, all writes are dry runs.
type Session struct {
	Client client.Client
	Reader client.Reader // reads from the API server
	Memory *memory.Memory
	Child  *layer.Child
	Gate   Gate

	Known    memory.Record // the last answer of the API server that was known when the live object was read
	Requests int           // sent so far, cached reads excepted
	LastRead client.Object // the object as it was read last, or nil

	IsCacheBehind bool // the cache does not show the object, or not as it is
}

// A Gate is asked before each read of the cache and each request, until one is sent. If it returns an error, that is not sent.
type Gate interface{ Allow() error }

// DryRun makes a single write a dry run. The client does not wait until its cache shows the write.
var DryRun dryRun

type dryRun struct{}

func (dryRun) ApplyToPatch(o *client.PatchOptions) {
	client.DryRunAll.ApplyToPatch(o)
	consistency.Off.ApplyToPatch(o)
}

func (dryRun) ApplyToCreate(o *client.CreateOptions) {
	client.DryRunAll.ApplyToCreate(o)
	consistency.Off.ApplyToCreate(o)
}

func (dryRun) ApplyToDelete(o *client.DeleteOptions) {
	client.DryRunAll.ApplyToDelete(o)
	consistency.Off.ApplyToDelete(o)
}

// begin counts a request that is about to be sent, unless the Gate refuses it.
func (s *Session) begin() error {
	if err := s.allow(); err != nil {
		return err
	}
	s.Requests++
	return nil
}

// allow asks the Gate. A call that has begun to send goes on.
func (s *Session) allow() error {
	if s.Requests > 0 {
		return nil
	}
	return s.Gate.Allow()
}

// Read returns the object through the client, usually a cached copy, or nil if there is none.
func (s *Session) Read(ctx context.Context) (client.Object, error) {
	if err := s.allow(); err != nil {
		return nil, err
	}
	bounded := newLazyTimeout(ctx, readWait)
	defer bounded.stop()
	live, err := s.get(bounded, s.Client) //nolint:contextcheck // bounded is made from ctx
	if bounded.hasExpired(ctx, err) {
		// The read waited for our own write, or for the first list of an informer, which may go on.
		if err := s.endlessWait("read"); err != nil {
			return nil, err
		}
		live, err = s.get(ctx, s.Client, consistency.Off)
	}
	if err != nil {
		s.noteReadFailure(err)
	}
	return live, err
}

// List reads the objects in a namespace through the client. The items may belong to the cache.
func (s *Session) List(ctx context.Context, list client.ObjectList, namespace string) error {
	if err := s.allow(); err != nil {
		return err
	}
	opts := []client.ListOption{client.InNamespace(namespace), client.UnsafeDisableDeepCopy}
	bounded := newLazyTimeout(ctx, readWait)
	defer bounded.stop()
	err := s.Client.List(bounded, list, opts...) //nolint:contextcheck // it is made from ctx
	if bounded.hasExpired(ctx, err) {
		if err := s.endlessWait("list"); err != nil {
			return err
		}
		err = s.Client.List(ctx, list, append(opts, consistency.Off)...)
	}
	if err != nil {
		s.noteReadFailure(err)
		return s.Child.Subject.Request("list", err)
	}
	return nil
}

// noteReadFailure counts a failed read as a request if the API server answered it: a cache
// does not.
func (s *Session) noteReadFailure(err error) {
	if _, ok := answer.Status(err); ok {
		s.Requests++
	}
}

// ReadServer returns the object from the API server, or nil if there is none.
func (s *Session) ReadServer(ctx context.Context) (client.Object, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	return s.get(ctx, s.Reader)
}

func (s *Session) get(ctx context.Context, from client.Reader, opts ...client.GetOption) (client.Object, error) {
	live := s.Child.Kind.Empty(s.Child.Desired)
	switch err := from.Get(ctx, s.Child.Subject.Key, live, opts...); {
	case err == nil:
		s.LastRead = live
		return live, nil
	case answer.IsGone(err):
		return nil, nil
	default:
		return nil, s.Child.Subject.Request("read", err)
	}
}

// Reread returns live from the API server.
func (s *Session) Reread(ctx context.Context, live client.Object) (client.Object, error) {
	complete, err := s.ReadServer(ctx)
	if err != nil {
		return nil, err
	}
	if complete == nil || complete.GetUID() != live.GetUID() {
		return nil, s.Child.Subject.Conflict("read", "the cache is behind", nil)
	}
	return complete, nil
}

// RereadJSON returns the object with this UID from the API server, with fields that a Go type may not
// have.
func (s *Session) RereadJSON(ctx context.Context, operation string, uid types.UID) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(s.Child.Kind.GVK)
	if err := s.begin(); err != nil {
		return nil, err
	}
	switch err := s.Reader.Get(ctx, s.Child.Subject.Key, live); {
	case answer.IsGone(err) || err == nil && live.GetUID() != uid:
		return nil, s.Child.Subject.Conflict(operation, "it was replaced meanwhile", err)
	case err != nil:
		return nil, s.Child.Subject.Request("read", err)
	}
	return live, nil
}

// ReadOwner returns the metadata of the child's owner from the API server, and how the owner came to its end: empty if it is
// still there. The error is the client's, or the Gate's.
func (s *Session) ReadOwner(ctx context.Context) (current *metav1.PartialObjectMetadata, end string, err error) {
	if err := s.begin(); err != nil {
		return nil, "", err
	}
	owner, ref := s.Child.Owner, s.Child.Controller
	current = &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: ref.APIVersion, Kind: ref.Kind}}
	switch err := s.Reader.Get(ctx, client.ObjectKeyFromObject(owner), current); {
	case answer.IsGone(err):
		return nil, "is gone", nil
	case err != nil:
		return nil, "", err
	case owner.GetUID() != "" && current.GetUID() != owner.GetUID():
		return nil, "was replaced meanwhile", nil
	case current.GetDeletionTimestamp() != nil:
		return nil, "is being deleted", nil
	}
	return current, "", nil
}

// Apply sends an apply of the desired state, by force. The API server refuses nulls that the schema of a custom
// kind does not allow, while a create leaves them out by itself. So the apply is sent again without them, and later applies of
// the same desired state are sent without them at once. In a list, which may be merged with live's, they go from
// every item: all have the same schema.
func (s *Session) Apply(
	ctx context.Context, operation string, body []byte, opts ...client.PatchOption,
) (client.Object, error) {
	opts = append(opts, client.ForceOwnership)
	known, _ := s.Memory.Nulls.Get(s.Child.OwnedID())
	if known.Digest != s.Child.Digest {
		known = memory.Nulls{Digest: s.Child.Digest}
	} else if rest := canon.WithoutNulls(body, known.Fields); rest != nil {
		body = rest
	}
	applied, err := s.Patch(ctx, operation, types.ApplyPatchType, body, opts...)
	refused := fault.WithoutIndexes(answer.Nulls(err))
	if len(refused) == 0 {
		return applied, err
	}
	rest := canon.WithoutNulls(body, refused)
	if rest == nil {
		return nil, err
	}
	known.Fields = slices.Concat(known.Fields, refused)
	s.Memory.Nulls.Set(s.Child.OwnedID(), known)
	return s.Patch(ctx, operation, types.ApplyPatchType, rest, opts...)
}

// Patch sends a patch and returns the API server's response.
func (s *Session) Patch(
	ctx context.Context, operation string, form types.PatchType, patch []byte, opts ...client.PatchOption,
) (client.Object, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	s.Memory.Absent.Remove(s.Child.ID()) // also if no answer comes
	answer := s.Child.Kind.Empty(s.Child.Desired)
	answer.SetNamespace(s.Child.Subject.Key.Namespace)
	answer.SetName(s.Child.Subject.Key.Name)
	if err := s.patchInto(ctx, answer, form, patch, opts...); err != nil {
		return nil, s.Child.Subject.Request(operation, err)
	}
	return answer, nil
}

func (s *Session) patchInto(
	ctx context.Context, answer client.Object, form types.PatchType, patch []byte, opts ...client.PatchOption,
) error {
	opts = append([]client.PatchOption{client.FieldOwner(s.Child.Operator.FieldOwner)}, opts...)
	if form == types.ApplyPatchType {
		patch = canon.YAML(patch)
	}
	if s.Child.DryRun {
		opts = append(opts, DryRun)
	}
	if object.IsPatchMisrecorded(answer) {
		opts = append(opts, consistency.Off)
	}
	return s.Client.Patch(ctx, answer, client.RawPatch(form, patch), opts...)
}

// PatchJSON sends a JSON patch and returns the API server's response.
func (s *Session) PatchJSON(
	ctx context.Context, operation string, operations []jsonpatch.Operation, opts ...client.PatchOption,
) (client.Object, error) {
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, s.Child.Subject.Unencodable(err)
	}
	return s.Patch(ctx, operation, types.JSONPatchType, patch, opts...)
}

// PatchEntries sends the patch of live's managed fields that build returns, on a fresh copy if others
// write in between, and returns the API server's response, or live if there is nothing to change.
func (s *Session) PatchEntries(
	ctx context.Context, operation string, live client.Object, build func(live client.Object) *managedfields.Patch,
) (client.Object, error) {
	for range attempts {
		operations := build(live).Operations()
		if len(operations) == 0 {
			return live, nil
		}
		patched, err := s.PatchJSON(ctx, operation, operations)
		if !fault.IsRace(err) {
			return patched, err
		}
		if live, err = s.Reread(ctx, live); err != nil {
			return nil, err
		}
	}
	return nil, s.Child.Subject.Conflict(operation, "it was changed meanwhile", nil)
}

// PatchWhileUnchanged sends the JSON patch that build returns. If others write in between, again reads the object afresh and
// reports whether the patch still means the same.
func (s *Session) PatchWhileUnchanged(
	ctx context.Context, operation string, build func() []jsonpatch.Operation, again func() (bool, error),
) (client.Object, error) {
	for range attempts {
		patched, err := s.PatchJSON(ctx, operation, build())
		if !fault.IsRace(err) {
			return patched, err
		}
		if isSame, err := again(); err != nil {
			return nil, err
		} else if !isSame {
			break
		}
	}
	return nil, s.Child.Subject.Conflict(operation, "it was changed meanwhile", nil)
}

// TryApply applies obj by a dry run, and sets obj to the API server's response. The error is the client's.
func (s *Session) TryApply(ctx context.Context, obj *unstructured.Unstructured) error {
	body, err := obj.MarshalJSON()
	if err != nil {
		return s.Child.Subject.Unencodable(err)
	}
	if err := s.begin(); err != nil {
		return err
	}
	return s.patchInto(ctx, obj, types.ApplyPatchType, body, DryRun)
}

// TryCreate creates obj by a dry run. The API server checks last whether the object exists, so the error for an existing
// object means that all other checks passed. The error is the client's.
func (s *Session) TryCreate(ctx context.Context, obj *unstructured.Unstructured) error {
	if err := s.begin(); err != nil {
		return err
	}
	err := s.Client.Create(ctx, obj.DeepCopy(), DryRun, client.FieldOwner(s.Child.Operator.FieldOwner))
	if answer.IsThere(err) {
		return nil
	}
	return err
}

// Delete deletes live, as it was read, and reports whether it was there. The client may wait until its cache shows the
// deletion, unless the cache leaves the object out.
func (s *Session) Delete(ctx context.Context, live client.Object, policy metav1.DeletionPropagation) (wasThere bool, err error) {
	seen := metav1.Preconditions{UID: new(live.GetUID()), ResourceVersion: new(live.GetResourceVersion())}
	opts := []client.DeleteOption{client.Preconditions(seen), client.PropagationPolicy(policy)}
	switch {
	case s.Child.DryRun:
		opts = append(opts, DryRun)
	case s.IsCacheBehind:
		opts = append(opts, consistency.Off)
	}
	if err := s.begin(); err != nil {
		return false, err
	}
	switch err := s.Client.Delete(ctx, live, opts...); {
	case answer.IsGone(err):
		return false, nil
	case err != nil:
		return false, s.Child.Subject.Request("delete", err)
	}
	if !s.Child.DryRun {
		s.Memory.NoteDeletion(s.Child.OwnedID())
	}
	return true, nil
}
