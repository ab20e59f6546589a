package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/bench/internal/contest"
)

// A result has the cost of a contestant in each step, and the faults that were found afterwards.
type result struct {
	Name  string
	Steps []step
	// Drifted and Lost are the kinds of children with drift that was not reverted, and without the additions
	// of others.
	Drifted, Lost []string
	// Memory is the heap per child, in bytes: that of the cache, which is the same for all contestants, and
	// that of the contestant.
	Memory float64
}

// A step is one pass over all owners, or several without a change between them.
type step struct {
	Name string
	cost
}

// step returns the step of that name.
func (r result) step(name string) step {
	for _, step := range r.Steps {
		if step.Name == name {
			return step
		}
	}
	return step{Name: name}
}

// restPasses returns the number of passes of the step in which there is nothing to do: with few children, one pass is too
// short to be measured.
func restPasses(owners int) int {
	if owners < 1000 {
		return 3
	}
	return 1
}

// A trial is the run of one contestant.
type trial struct {
	*environment

	contestant contestant
	owners     []*corev1.ConfigMap
	operator   *operator
	revision   int
	result     result
}

// measure runs a contestant with so many children on a new cluster.
func measure(ctx context.Context, c contestant, size int) (result, error) {
	var measured result
	err := onNewCluster(ctx, func(e *environment) (err error) {
		measured, err = e.measure(ctx, c, size)
		return err
	})
	return measured, err
}

func (e *environment) measure(ctx context.Context, c contestant, size int) (result, error) {
	t := trial{environment: e, contestant: c, result: result{Name: c.name}}
	var err error
	if t.owners, err = e.createOwners(ctx, size/len(children())); err != nil {
		return t.result, err
	}
	before := heapInUse()
	if t.operator, err = e.start(ctx, c, t.owners[0].Namespace); err != nil {
		return t.result, err
	}
	err = t.run(ctx)
	t.result.Memory = float64(heapInUse()-before) / float64(size)
	return t.result, errors.Join(err, t.operator.stop())
}

// run runs all steps.
func (t *trial) run(ctx context.Context) error {
	for _, do := range []func(context.Context) error{
		t.step("create", 1),
		t.rest,
		t.step("nothing to do", restPasses(len(t.owners))),
		t.patch(t.owners, child.heartbeatPatch),
		t.step("a status changed", 1),
		t.patch(t.owners[:1], child.additionPatch),
		t.rest,
		t.patch(t.owners, child.driftPatch),
		t.step("drift", 1),
		t.findDrifted,
		waitForNextSecond,
		t.change,
		t.step("a change of desired", 1),
		t.rest,
		t.findLost,
		t.restart,
		t.step("restart", 1),
	} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step measures passes once everything is at rest.
func (t *trial) step(name string, times int) func(context.Context) error {
	return func(ctx context.Context) error {
		err := t.settle(ctx, t.operator)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		cost, err := t.cost(ctx, times)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.result.Steps = append(t.result.Steps, step{name, cost})
		return nil
	}
}

// rest runs a pass that is not measured, for contestants that need more than one until nothing is left to do.
func (t *trial) rest(ctx context.Context) error {
	if err := t.settle(ctx, t.operator); err != nil {
		return err
	}
	_, err := t.operator.pass(ctx, t.owners, t.revision)
	return err
}

// waitForNextSecond separates the writes of others from the next ones of the contestant. The times in managed fields are
// whole seconds: after a restart, trueup applies once where somebody else wrote within the second of its last apply.
func waitForNextSecond(ctx context.Context) error {
	select {
	case <-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *trial) change(context.Context) error {
	t.revision++
	return nil
}

// restart replaces the operator by one without a memory.
func (t *trial) restart(ctx context.Context) error {
	if err := t.settle(ctx, t.operator); err != nil {
		return err
	}
	next, err := t.start(ctx, t.contestant, t.owners[0].Namespace)
	if err != nil {
		return err
	}
	err = t.operator.stop()
	t.operator = next
	return err
}

// others is the field owner of everybody but the contestant.
const others = client.FieldOwner("somebody-else")

// A patchOf sends a change of a child by somebody else, if there is such a change for its kind.
type patchOf func(c child, ctx context.Context, admin client.Client, object client.Object) error

// patch has somebody else change the children of owners.
func (t *trial) patch(owners []*corev1.ConfigMap, patch patchOf) func(context.Context) error {
	return func(ctx context.Context) error {
		return eachOf(ctx, owners, func(ctx context.Context, i int) error {
			for _, child := range children() {
				object := child.Desired(owners[i], 0)
				if err := patch(child, ctx, t.admin, object); err != nil {
					return fmt.Errorf("cannot patch %s %s: %w", child.Kind.Kind, object.GetName(), err)
				}
			}
			return nil
		})
	}
}

func (c child) heartbeatPatch(ctx context.Context, admin client.Client, object client.Object) error {
	if c.heartbeat == "" {
		return nil
	}
	return admin.Status().Patch(ctx, object, c.patch(fmt.Sprintf(c.heartbeat, time.Now().UnixNano())), others)
}

func (c child) additionPatch(ctx context.Context, admin client.Client, object client.Object) error {
	return admin.Patch(ctx, object, c.patch(c.addition), others)
}

func (c child) driftPatch(ctx context.Context, admin client.Client, object client.Object) error {
	return admin.Patch(ctx, object, c.patch(c.drift), others)
}

func (c child) patch(body string) client.Patch {
	if c.Kind == contest.DatabaseKind {
		return client.RawPatch(types.MergePatchType, []byte(body))
	}
	return client.RawPatch(types.StrategicMergePatchType, []byte(body))
}

// findDrifted notes the kinds of the children of the first owner that still have the drift.
func (t *trial) findDrifted(ctx context.Context) (err error) {
	t.result.Drifted, err = t.kindsWhere(ctx, func(c child, live client.Object) bool { return c.hasDrift(live) })
	return err
}

// findLost notes the kinds of the children of the first owner that have lost the addition of somebody else.
func (t *trial) findLost(ctx context.Context) (err error) {
	t.result.Lost, err = t.kindsWhere(ctx, func(c child, live client.Object) bool { return !c.hasAddition(live) })
	return err
}

func (t *trial) kindsWhere(ctx context.Context, matches func(child, client.Object) bool) (kinds []string, err error) {
	for _, child := range children() {
		live := child.Empty()
		if err := t.admin.Get(ctx, client.ObjectKeyFromObject(child.Desired(t.owners[0], 0)), live); err != nil {
			return nil, err
		}
		if matches(child, live) {
			kinds = append(kinds, child.Kind.Kind)
		}
	}
	return kinds, nil
}

// checkObserved returns an error if the controller of a Deployment has not observed the Deployment.
func checkObserved(object client.Object) error {
	if d, ok := object.(*appsv1.Deployment); ok && d.Status.ObservedGeneration != d.Generation {
		return fmt.Errorf("the Deployment %s is not observed yet", d.Name)
	}
	return nil
}
