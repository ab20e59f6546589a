package property_test

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A write is one of another program.
type write struct {
	places  []place
	form    string
	clashes bool
}

// writeAsOthers writes the additions and clashes of other programs, in any order.
func (r *round) writeAsOthers() {
	writes := r.additionsByOthers()
	shuffled := len(writes)
	for i, c := range r.chosen {
		if len(c.theirs) > 0 {
			form := "Update"
			if r.applied && i == 0 {
				form = "Apply"
			}
			writes = append(writes, write{c.theirs, form, true})
		}
	}
	if r.wantedOutcome() != immutable { // what makes it so comes last
		shuffled = len(writes)
	}
	r.rng.Shuffle(shuffled, func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	if len(r.status) > 0 && r.rng.IntN(2) == 0 {
		writes = append(writes, write{r.status, "status", false})
	}
	if len(r.scale) > 0 && r.rng.IntN(3) == 0 {
		writes = append(writes, write{r.scale, "scale", false})
	}
	for i, w := range writes {
		done := r.write(w.form, w.places, r.rng.IntN(4))
		require.True(r.t, done || !w.clashes, "%v", w.places)
		if i == 0 {
			r.snapshot = append(r.snapshot, r.live())
		}
	}
}

// additionsByOthers are a third of all additions, some by two programs.
func (r *round) additionsByOthers() []write {
	var writes []write
	for _, places := range slices.Concat(everywhere, r.additions) {
		if r.rng.IntN(3) > 0 {
			continue
		}
		writes = append(writes, write{places, []string{"Update", "Update", "Apply"}[r.rng.IntN(3)], false})
		if r.rng.IntN(5) == 0 && !strings.Contains(string(places[0]), "[+]") {
			writes = append(writes, write{places, "Apply", false})
		}
	}
	return writes
}

// write writes places as another program does, and reports whether the server accepts the write: a
// clash may prevent an addition.
func (r *round) write(form string, places []place, who int) bool {
	r.t.Helper()
	managers := map[string][]string{
		"Update": {"kubectl-edit", "mesh-injector", "another-operator", "cainjector"}, "Apply": {"flux", "argocd", "helm", "kubectl"},
		"status": {"a-controller"}, "scale": {"autoscaler"},
	}[form]
	by := managers[who%len(managers)]
	err := retry.RetryOnConflict(conflictRetry, func() error { return r.send(form, by, places) })
	r.logf("%s by %s: %v: %s", form, by, places, explain(err))
	if !apierrors.IsInvalid(err) {
		require.NoError(r.t, err, "%s by %s: %v", form, by, places)
	}
	return err == nil
}

// conflictRetry is for a machine on which a controller often comes in between.
var conflictRetry = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.5, Steps: 20, Cap: time.Second}

func (r *round) send(form, by string, places []place) error {
	live := r.live()
	ctx, owner := r.t.Context(), client.FieldOwner(by)
	switch form {
	case "Apply":
		body := map[string]any{
			"apiVersion": live.GetAPIVersion(), "kind": live.GetKind(), "metadata": map[string]any{"name": live.GetName(), "namespace": live.GetNamespace()},
		}
		all := slices.Concat(r.applies[by], places) // what it applied before again
		r.writeTo(body, all)
		err := r.client.Patch(ctx, live, client.RawPatch(types.ApplyPatchType, []byte(jsonOf(body))), owner, client.ForceOwnership)
		if err == nil {
			r.applies[by] = all
		}
		return err
	case "scale":
		return r.client.SubResource("scale").Patch(ctx, live, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":2}}`)), owner)
	}
	r.writeTo(live.Object, places)
	if form == "status" {
		return r.client.Status().Update(ctx, live, owner)
	}
	return r.client.Update(ctx, live, owner)
}

// injectFaults lets something go wrong with one request, or two, or with the cache.
func (r *round) injectFaults() {
	for range []int{0, 0, 1, 1, 2}[r.rng.IntN(5)] {
		at, t := r.operator.requests+1+r.rng.IntN(7), randomFault(r.rng)
		r.operator.faults[at] = t
		r.logf("request %d fails, done: %t: %v", at-r.operator.requests, t.delivered, t.err)
	}
	switch r.rng.IntN(6) {
	case 0:
		r.operator.isLagging, r.operator.laggedReads = true, 1+r.rng.IntN(3)
		if i := r.rng.IntN(len(r.snapshot) + 1); i < len(r.snapshot) {
			r.operator.laggingCopy = r.snapshot[i]
		}
		r.logf("the cache lags for %d reads, shows something: %t", r.operator.laggedReads, r.operator.laggingCopy != nil)
	case 1:
		r.operator.stripsManagedFields = true
		r.logf("the cache strips managed fields")
	case 2, 3:
		addition := []place{"metadata.labels[between]=theirs"}
		if len(r.additions) > 0 && r.rng.IntN(3) > 0 {
			addition = r.additions[r.rng.IntN(len(r.additions))]
		}
		at := r.operator.requests + 1 + r.rng.IntN(7)
		r.operator.faults[at] = &fault{before: func() {
			if r.write("Update", addition, 1) {
				r.between = append(r.between, addition...)
			}
		}}
	}
}
