package property_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
	"github.com/trueup-go/trueup/test/harness/await"
)

const fieldOwner = "property-operator"

// A round is the history of one object: the operator creates it, other programs write to it,
// desired changes or not, and the operator reconciles the result.
type round struct {
	t   *testing.T
	rng *rand.Rand

	kindCase
	asTyped   bool
	name      string
	namespace string
	client    client.Client
	operator  *operatorClient
	ensurer   *ensure.Ensurer
	clock     *clocktesting.FakePassiveClock

	log      []string
	last     *unstructured.Unstructured // as it is in the end
	chosen   []clash
	applied  bool // what clashes, so that it is not ours to remove
	desired  map[string]any
	applies  map[string][]place // by manager
	between  []place            // what another program wrote between two requests
	snapshot []*unstructured.Unstructured
}

// run runs the round to its end.
func (r *round) run() {
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Log(strings.Join(r.log, "\n"))
		}
	})
	r.choose()
	r.desired = r.parse(r.first)
	for _, c := range r.chosen {
		r.writeTo(r.desired, c.before)
	}
	_, err := r.pass()
	require.NoError(r.t, err)
	r.t.Cleanup(r.remove)
	r.awaitEstablished()
	r.snapshot = append(r.snapshot, r.live())

	r.writeAsOthers()
	before := r.live()
	for _, c := range r.chosen {
		r.writeTo(r.desired, c.ours)
	}
	r.logf("desired: %s", jsonOf(r.desired))
	r.injectFaults()
	changes, err := r.reconcileUntilQuiet()
	after := r.live()
	r.logf("error: %s", explain(err))
	r.logf("changes: %v", changes)
	r.logf("before: %s", jsonOf(before.Object))
	r.logf("after: %s", jsonOf(after.Object))
	r.check(before, after, changes, err)
}

func (r *round) logf(format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

// choose chooses the clashes: mostly one, sometimes two or none.
func (r *round) choose() {
	r.asTyped = r.typed && r.rng.IntN(2) == 0
	r.logf("kind: %s, typed: %t", r.kindCase.name, r.asTyped)
	for n := []int{0, 1, 1, 1, 1, 2}[r.rng.IntN(6)]; n > 0 && len(r.clashes) > 0; n-- {
		c := r.clashes[r.rng.IntN(len(r.clashes))]
		if slices.ContainsFunc(r.chosen, func(other clash) bool { return !c.goesWith(other) }) {
			continue
		}
		r.chosen = append(r.chosen, c)
		r.logf("clash: %s", c.name)
	}
	r.applied = len(r.chosen) > 0 && r.rng.IntN(6) == 0 && r.chosen[0].unlessApplied
}

// wantedOutcome is how the round has to end.
func (r *round) wantedOutcome() outcome {
	for i, c := range r.chosen {
		switch {
		case c.outcome != repaired:
			return c.outcome
		case r.applied && i == 0:
			return refused
		}
	}
	return repaired
}

// goesWith reports whether two clashes can be distinguished: they concern different parts, and both
// can be repaired.
func (c clash) goesWith(other clash) bool {
	if c.outcome != repaired || other.outcome != repaired {
		return false
	}
	parts := func(c clash) []string {
		var out []string
		for _, p := range slices.Concat(c.before, c.theirs, c.ours) {
			steps, _ := split(strings.TrimPrefix(string(p), "-"))
			out = append(out, strings.Join(steps, "."))
		}
		return append(out, c.loses...)
	}
	for _, a := range parts(c) {
		for _, b := range parts(other) {
			if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
				return false
			}
		}
	}
	return true
}

// backoff is longer than the Ensurer holds a call that failed for a moment, and four times that is
// shorter than a cache may lag.
const backoff = 25 * time.Second

// pass is one pass of the operator.
func (r *round) pass() (ensure.Result[client.Object], error) {
	r.clock.SetTime(r.clock.Now().Add(backoff))
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(r.desired)}
	desired := client.Object(obj)
	if r.asTyped {
		made, err := r.client.Scheme().New(obj.GroupVersionKind())
		require.NoError(r.t, err)
		require.NoError(r.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, made))
		made.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		desired, _ = made.(client.Object)
	}
	if r.wantedOutcome() == immutable {
		return ensure.Object(r.t.Context(), r.ensurer, desired)
	}
	return ensure.Object(r.t.Context(), r.ensurer, desired, // which may delete what is immutable, and nothing is
		ensure.Recreate(metav1.DeletePropagationBackground, ensure.OnDrift, ensure.DeleteData))
}

// maxPasses bounds the number of passes until the operator is done.
const maxPasses = 20

// reconcileUntilQuiet runs passes until one sends no request, and returns all changes.
func (r *round) reconcileUntilQuiet() ([]ensure.Change, error) {
	var changes []ensure.Change
	quiet, restart := 0, r.rng.IntN(4)
	for pass := range maxPasses {
		if pass == restart {
			r.newEnsurer()
		}
		asked := r.operator.requests
		res, err := r.pass()
		r.logf("pass: %s %v stale: %t, %d requests, %s", res.Operation, res.Changes, res.Stale, r.operator.requests-asked, explain(err))
		changes = append(changes, res.Changes...)
		isFinal := !errors.Is(err, ensure.ErrAPI) // else the call is sent again later
		if r.operator.requests == asked && isFinal && !res.Stale && r.operator.laggedReads == 0 {
			quiet++
		} else {
			quiet = 0
		}
		if quiet >= 2 && pass > restart {
			return changes, err
		}
	}
	require.Fail(r.t, "the operator does not get quiet")
	return nil, nil
}

func (r *round) newEnsurer() {
	r.clock = clocktesting.NewFakePassiveClock(time.Now())
	r.ensurer = ensure.New(r.operator, apiReader{r.operator}, fieldOwner, testclock.With[ensure.Setting](r.clock))
}

func (r *round) parse(text string) map[string]any {
	r.t.Helper()
	obj, _ := parse(r.t, r.fill(text)).(map[string]any)
	u := &unstructured.Unstructured{Object: obj}
	if u.GetName() == "" {
		u.SetName(r.name)
	}
	if namespaced, err := r.client.IsObjectNamespaced(u); err == nil && namespaced {
		u.SetNamespace(r.namespace)
	}
	return obj
}

func (r *round) fill(text string) string {
	return strings.NewReplacer("NAME", r.name, "BUNDLE", base64.StdEncoding.EncodeToString(shared.Config().CAData)).Replace(text)
}

func (r *round) writeTo(obj map[string]any, places []place) {
	r.t.Helper()
	for _, p := range places {
		place(r.fill(string(p))).write(r.t, obj)
	}
}

// live returns the live object.
func (r *round) live() *unstructured.Unstructured {
	r.t.Helper()
	live := &unstructured.Unstructured{Object: r.parse(r.first)}
	require.NoError(r.t, r.client.Get(r.t.Context(), client.ObjectKeyFromObject(live), live))
	return live
}

// awaitEstablished waits until a CustomResourceDefinition is established: only then is its scope immutable.
func (r *round) awaitEstablished() {
	if r.kindCase.name != "CustomResourceDefinition" {
		return
	}
	require.NoError(r.t, await.Until(r.t.Context(), time.Minute, func(context.Context) error {
		conditions, _, _ := unstructured.NestedSlice(r.live().Object, "status", "conditions")
		for _, condition := range conditions {
			if c, _ := condition.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
				return nil
			}
		}
		return errors.New("it is not established")
	}))
}

func (r *round) remove() {
	live := &unstructured.Unstructured{Object: r.parse(r.first)}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		ctx := r.t.Context()
		if ctx.Err() != nil {
			ctx = contextOf(r.t)
		}
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return client.IgnoreNotFound(err)
		}
		live.SetFinalizers(nil)
		if err := r.client.Update(ctx, live); err != nil {
			return err
		}
		return client.IgnoreNotFound(r.client.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	})
	if err != nil {
		r.t.Logf("the object stays: %v", err)
	}
}

func jsonOf(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// explain returns the server's own message.
func explain(err error) string {
	var text []string
	for ; err != nil; err = errors.Unwrap(err) {
		text = append(text, err.Error())
	}
	return strings.Join(text, " <- ")
}
