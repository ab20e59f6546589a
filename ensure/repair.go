package ensure

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// An application is a successful apply, with the object before the apply and the answer of the API
// server.
type application struct {
	before, after client.Object
	removed       []obstacle.Obstacle // removed by the apply, or left by old managers
	tried         bool                // and not done
}

// namesFieldsOnly reports whether err is a 422 all of whose causes name fields, none
// of the metadata. A cause without a field is an admission policy's.
func namesFieldsOnly(err error) bool {
	causes := answer.Causes(err)
	return apierrors.IsInvalid(err) && len(causes) > 0 && !slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "" || strings.HasPrefix(cause.Field, "metadata")
	})
}

// A repair makes an apply possible that the server refused.
type repair struct {
	*child
	refusal error
	live    *unstructured.Unstructured // the object on the API server
	merge   *obstacle.Merge
	unowned bool           // merge contains the fields of live without an owner
	applied *fieldpath.Set // that an apply of desired alone owns; nil if not asked for
	tried   client.Object  // the answer to the last trial that passed
	denied  error          // the server's answer to the last trial that did not
}

// observe reads live from the server.
func (r *repair) observe(ctx context.Context, uid types.UID) error {
	desired, err := r.candidate(r.part())
	if err != nil {
		return err
	}
	live, err := r.rereadJSON(ctx, "repair", uid)
	if err != nil {
		return err
	}
	patched, err := r.convertible(ctx, live)
	if err != nil {
		return err
	}
	live.SetManagedFields(patched.GetManagedFields())
	r.live, r.merge = live, obstacle.Of(live, desired, r.fieldOwner)
	if err := r.completeKeys(ctx); err != nil {
		return err
	}
	if r.unowned || !r.merge.HasOwners() {
		if err := r.addUnowned(ctx); err != nil {
			return err
		}
	}
	for _, h := range r.handed() {
		r.merge.Spare(h.steps)
	}
	return nil
}

// addUnowned adds the fields of live without an owner to the merge. In a dry run, another manager
// applies live unchanged, and the answer shows all fields as owned by that manager.
func (r *repair) addUnowned(ctx context.Context) error {
	content := maps.Clone(r.live.Object)
	delete(content, "status")
	content["metadata"] = map[string]any{"name": r.key.Name, "namespace": r.key.Namespace, "uid": r.live.GetUID()}
	body, err := json.Marshal(content)
	if err != nil {
		return r.unfit(err)
	}
	r.unowned = true
	applied, err := r.patch(ctx, "repair", types.ApplyPatchType, body, client.ForceOwnership,
		client.DryRunAll, client.DisableReadYourWritesConsistency, client.FieldOwner(beforeFirstApply))
	if answer.IsFinal(err) {
		return nil // nothing tells
	}
	if err != nil {
		return err
	}
	if all := managedfields.Applied(applied, beforeFirstApply); all != nil {
		r.merge.AddUnowned(managedfields.Fields(all))
	}
	return r.completeKeys(ctx)
}

// run finds the conflicting fields and removes them.
func (r *repair) run(ctx context.Context) (application, error) {
	all := r.merge.Obstacles(answer.Fields(r.refusal))
	obstacles, err := r.find(ctx, all)
	if err == nil && len(obstacles) == 0 {
		obstacles, err = judgement{r}.run(ctx, all)
	}
	if err != nil {
		return application{}, err
	}
	if err := r.checkDependents(ctx, obstacles); err != nil {
		return application{}, err
	}
	return r.remove(ctx, obstacles)
}

// remove has the next apply remove obstacles, after a trial without them.
func (r *repair) remove(ctx context.Context, obstacles []obstacle.Obstacle) (application, error) {
	if r.dryRun { // nothing is stored that the next requests could build on
		return application{before: r.typed(), after: r.tried, removed: obstacles, tried: true}, nil
	}
	taken, err := r.takeOver(ctx, obstacles)
	if err != nil {
		return application{}, err
	}
	applied, err := r.applyAgain(ctx, obstacles)
	if err != nil {
		r.giveBack(ctx, taken, obstacles)
	}
	return application{before: taken, after: applied, removed: obstacles}, err
}

// applyAgain applies desired, which removes the obstacles. Node ports that would go with them
// are applied, too, and are nobody's afterwards, as they were before.
func (r *repair) applyAgain(ctx context.Context, obstacles []obstacle.Obstacle) (client.Object, error) {
	desired, err := r.candidate(r.part())
	if err != nil {
		return nil, err
	}
	kept := r.keepNodePorts(desired, obstacles)
	if len(kept) == 0 {
		return r.sendApply(ctx, r.live.GetUID())
	}
	desired.SetUID(r.live.GetUID())
	body, err := desired.MarshalJSON()
	if err != nil {
		return nil, r.unfit(err)
	}
	applied, err := r.applyBody(ctx, "apply", body)
	if err != nil {
		return nil, err
	}
	return r.disown(ctx, applied, fieldpath.NewSet(kept...))
}

// typed returns the object on the API server in the Go type of desired.
func (r *repair) typed() client.Object {
	live := r.empty(r.desired)
	text, err := r.live.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, live)
	}
	if err != nil {
		return r.empty(r.desired)
	}
	return live
}

// candidate returns desired, or an error, as JSON.
func (c *child) candidate(desired canon.Object, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	body, err := canon.Body(desired, c.gvk, "", "")
	if err != nil {
		return nil, err
	}
	candidate := &unstructured.Unstructured{}
	return candidate, candidate.UnmarshalJSON(body)
}
