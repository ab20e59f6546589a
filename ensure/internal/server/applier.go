package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
	"github.com/trueup-go/trueup/internal/obstacle"
	"github.com/trueup-go/trueup/internal/paths"
)

// An Applier sends the desired state of the child of a Session.
type Applier struct {
	Server    *Session
	IsAdopted bool // somebody else created the live object, as its digest then says
	isAdopted bool // as stamped says

	Unowned *fieldpath.Set // the fields of the live object that nobody owns, if some of them are to go
	Last    []byte         // the body of the last apply, or nil
	stamped client.Object  // desired with its digest, once there is something to send
}

// An Application is a successful apply, with the object before the apply and the answer of the API
// server.
type Application struct {
	Before, After client.Object
	Removed       []obstacle.Obstacle // removed by the apply, or left by old managers
	IsTried       bool                // and not done
}

// createOnly is a resourceVersion, 2^62, that no object has: an apply that carries
// it creates, or is answered 409 Conflict if the object exists. Seen on
// kube-apiserver 1.36; an ordinary create would leave our fields owned by an Update
// entry, from which a later apply could not remove them.
const createOnly = "4611686018427387904"

// Stamped returns desired with its digest. A pass that sends nothing does not need the copy.
func (a *Applier) Stamped() (client.Object, error) {
	child := a.Server.Child
	if a.stamped == nil || a.isAdopted != a.IsAdopted {
		digest := child.Digest
		if a.IsAdopted {
			digest = layer.AdoptedMark + digest
		}
		stamped := child.Kind.ShallowCopy(child.Desired)
		if err := child.Operator.Store.Set(stamped, digest); err != nil {
			return nil, child.Subject.Undigestible(err)
		}
		a.stamped, a.isAdopted = stamped, a.IsAdopted
	}
	return a.stamped, nil
}

// Desired returns desired with its digest, as it is applied.
func (a *Applier) Desired() (canon.Object, error) {
	stamped, err := a.Stamped()
	if err != nil {
		return nil, err
	}
	return a.Server.Child.WithoutIgnored(stamped), nil
}

// Specified returns how many steps of a path desired specifies, as it is sent.
func (a *Applier) Specified(steps []string) (int, error) {
	stamped, err := a.Desired()
	if err != nil {
		return 0, err
	}
	return delta.Specifies(stamped, steps)
}

// toCreate returns desired as the creation sends it, with its digest, and with the values of a replaced object.
func (a *Applier) toCreate(replaced []delta.Edit) (canon.Object, error) {
	child := a.Server.Child
	if len(child.Ignored) == 0 {
		return a.Desired()
	}
	if err := child.Operator.Store.Set(child.Birth, child.Digest); err != nil {
		return nil, child.Subject.Undigestible(err)
	}
	return delta.Edited(child.Birth, replaced...), nil
}

// Create makes the object if there is none, with the values of a replaced one, in one request.
func (a *Applier) Create(ctx context.Context, replaced []delta.Edit) (client.Object, error) {
	a.IsAdopted = false
	child := a.Server.Child
	desired, err := a.toCreate(replaced)
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(desired, child.Kind.GVK, "", createOnly)
	if err != nil {
		return nil, child.Subject.Unencodable(err)
	}
	return a.Server.Apply(ctx, "create", body)
}

// Apply applies desired to the live object with this UID.
func (a *Applier) Apply(ctx context.Context, uid types.UID, opts ...client.PatchOption) (client.Object, error) {
	child := a.Server.Child
	desired, err := a.Desired()
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(desired, child.Kind.GVK, uid, "")
	if err != nil {
		return nil, child.Subject.Unencodable(err)
	}
	a.Last = body
	return a.Server.Apply(ctx, "apply", body, opts...)
}

// ApplyNothing gives up everything that the field owner has applied to live: the API server removes
// the fields that nobody else owns.
func (a *Applier) ApplyNothing(ctx context.Context, live client.Object) (client.Object, error) {
	child := a.Server.Child
	metadata := map[string]any{"name": child.Subject.Key.Name, "uid": live.GetUID()}
	if child.Subject.Key.Namespace != "" {
		metadata["namespace"] = child.Subject.Key.Namespace
	}
	body, err := json.Marshal(map[string]any{"apiVersion": child.Kind.APIVersion, "kind": child.Kind.GVK.Kind, "metadata": metadata})
	if err != nil {
		return nil, child.Subject.Unencodable(err)
	}
	answer, err := a.Server.Patch(ctx, fault.Releasing, types.ApplyPatchType, body, client.ForceOwnership)
	if child.DryRun || !fault.IsUnconvertible(err) {
		return answer, err
	}
	if _, err = a.MakeConvertible(ctx, live, err); err != nil {
		return nil, err
	}
	return a.Server.Patch(ctx, fault.Releasing, types.ApplyPatchType, body, client.ForceOwnership)
}

// Dry returns an Applier all of whose writes are dry runs. Its requests are to be counted by Count.
func (a *Applier) Dry() *Applier {
	dry, session, child := *a, *a.Server, *a.Server.Child
	dry.Server, session.Child, child.DryRun = &session, &child, true
	return &dry
}

// Count counts the requests of an Applier that Dry returned.
func (a *Applier) Count(dry *Applier) { a.Server.Requests = dry.Server.Requests }

// JSON returns desired, as it is applied, as JSON.
func (a *Applier) JSON() (*unstructured.Unstructured, error) { return a.Server.Child.JSON(a.Desired()) }

// JSONToCreate returns desired as the creation sends it, with the values of live that are ignored, as JSON.
func (a *Applier) JSONToCreate(live client.Object) (*unstructured.Unstructured, error) {
	values, err := a.Server.Child.IgnoredIn(live)
	if err != nil {
		return nil, err
	}
	return a.Server.Child.JSON(a.toCreate(values))
}

// Elsewhere returns the object that an apply of desired would create, with the values of live that are ignored; nil if
// the API server refuses. It tells by a dry run for an object that does not exist.
func (a *Applier) Elsewhere(ctx context.Context, live client.Object) (*unstructured.Unstructured, error) {
	elsewhere, err := a.JSONToCreate(live)
	if err != nil {
		return nil, err
	}
	elsewhere.SetName("trueup-" + string(uuid.NewUUID())) // some kinds want a letter first
	switch err := a.Server.TryApply(ctx, elsewhere); {
	case err == nil:
		return elsewhere, nil
	case fault.IsFault(err):
		return nil, err
	case !answer.IsFinal(err):
		return nil, a.Server.Child.Subject.Request("repair", err)
	}
	return nil, nil
}

// AllFields returns the fields of live, without metadata and status. If the API server refuses to tell, known is false, and there
// are none. In a dry run, another manager applies live unchanged, and the answer shows all fields as owned by that manager.
func (a *Applier) AllFields(ctx context.Context, live *unstructured.Unstructured) (all *fieldpath.Set, known bool, err error) {
	subject := &a.Server.Child.Subject
	content := maps.Clone(live.Object)
	delete(content, "status")
	content["metadata"] = map[string]any{"name": subject.Key.Name, "namespace": subject.Key.Namespace, "uid": live.GetUID()}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, false, subject.Unencodable(err)
	}
	applied, err := a.Server.Patch(ctx, "repair", types.ApplyPatchType, body, client.ForceOwnership,
		DryRun, client.FieldOwner(migrate.BeforeFirstApply))
	switch {
	case answer.IsFinal(err), errors.Is(err, fault.ErrInvalid), fault.IsUnconvertible(err):
		return fieldpath.NewSet(), false, nil
	case err != nil:
		return nil, false, err
	}
	return managedfields.Fields(managedfields.Applied(applied, migrate.BeforeFirstApply)), true, nil
}

// EmptyLists returns the lists that the last apply of desired had empty, and of which no item is left to others. Most
// desired states have none.
func (a *Applier) EmptyLists(live client.Object) ([]fieldpath.Path, error) {
	if !bytes.Contains(a.Last, []byte("[]")) {
		return nil, nil
	}
	child := a.Server.Child
	desired := &unstructured.Unstructured{}
	if err := desired.UnmarshalJSON(a.Last); err != nil {
		return nil, child.Subject.Unencodable(err)
	}
	return slices.DeleteFunc(obstacle.EmptyLists(desired.Object, child.Operator.Fields(live)), func(path fieldpath.Path) bool {
		steps := managedfields.Steps(path)
		return slices.ContainsFunc(child.Left, func(left layer.GivenPath) bool { return paths.HasPrefix(left.Steps, steps) })
	}), nil
}

// Rules returns the rules by which the fields of the child change their owner.
func (a *Applier) Rules() migrate.Rules {
	child := a.Server.Child
	rules := migrate.Rules{
		Owner: child.Operator.FieldOwner, APIVersion: child.Kind.APIVersion, Older: child.Older, Former: child.Operator.Former,
		IsAdopted: a.IsAdopted, IsField: child.Kind.IsField, Unowned: a.Unowned,
	}
	if len(child.Retired) > 0 {
		rules.IsRetired = child.IsRetiredField
	}
	if len(child.Left) > 0 || child.KeepsOwners {
		rules.IsLeft = child.Stays
	}
	return rules
}
