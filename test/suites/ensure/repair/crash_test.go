package repair_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

var errCrashed = errors.New("crashed")

// A crashingClient sends nothing any more after the first JSON patch that is stored: a repair has
// taken fields over, and its apply has not been sent.
type crashingClient struct {
	client.Client

	crashed bool
}

func (c *crashingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if c.crashed {
		return errCrashed
	}
	var o client.PatchOptions
	o.ApplyOptions(opts)
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	c.crashed = len(o.DryRun) == 0 && strings.HasPrefix(string(data), "[")
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func (c *crashingClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if c.crashed {
		return errCrashed
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// A crashCase is a crash of a program that repairs an object for a desired state.
type crashCase struct {
	first  string // desired at first
	others write
	second string // needs a repair
	taken  string // by the repair, of the others
}

const rolling = `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, strategy: {type: RollingUpdate}, selector: {matchLabels: {app: x}},
  template: {metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: x}]}}}}`

var crashCases = map[string]crashCase{
	"an item of a list": {
		service, metricsPort, strings.Replace(service, "ports: [", "ports: [{name: metrics, port: 81, protocol: TCP}, ", 1),
		"spec.ports[name=metrics].port=9090",
	},
	"a whole list": {
		strings.Replace(service, "spec: {", "spec: {type: LoadBalancer, ", 1),
		write{by: other, yaml: `spec: {loadBalancerSourceRanges: [10.0.0.0/8]}`},
		strings.Replace(service, "spec: {", "spec: {type: ClusterIP, ", 1),
		"spec.loadBalancerSourceRanges=[10.0.0.0/8]",
	},
	"a struct": {
		rolling,
		write{by: other, yaml: `spec: {strategy: {rollingUpdate: {maxSurge: 7}}}`},
		strings.Replace(rolling, "RollingUpdate", "Recreate", 1), "spec.strategy.rollingUpdate.maxSurge=7",
	},
	"a zero value": {
		rolling,
		write{by: other, yaml: `spec: {strategy: {rollingUpdate: {maxSurge: 0}}}`},
		strings.Replace(rolling, "RollingUpdate", "Recreate", 1), "spec.strategy.rollingUpdate.maxSurge=0",
	},
}

// crashed returns a fixture after the crash.
func (c *crashCase) crashed(t *testing.T, typed bool, opts ...ensure.Option) *fixture {
	t.Helper()
	f := newFixture(t, typed, nil)
	f.mustEnsure(c.first)
	f.write(c.first, c.others)
	f.write(c.first, write{by: other, yaml: `metadata: {labels: {theirs: x}}`})
	broken := &crashingClient{Client: f.client}
	_, err := ensure.Object(t.Context(), ensure.New(broken, broken, fieldOwner), f.parse(c.second), opts...)
	require.ErrorIs(t, err, errCrashed)
	require.True(t, broken.crashed)
	requireAt(t, f.live(c.first), c.taken)
	return f
}

// restart has another process ensure the object, perhaps with a cache that strips managed fields.
func (f *fixture) restart(strips bool) {
	c := program.Client(f.t, shared, "operator")
	f.ensurer = ensure.New(c, c, fieldOwner)
	if strips {
		f.ensurer = ensure.New(&strippingClient{c}, c, fieldOwner)
	}
}

// TestCrashedRepair: a process ends after taking a field over, and the next one wants the earlier state, another
// one, or the same. At most this field goes, whatever is desired.
func TestCrashedRepair(t *testing.T) {
	t.Parallel()
	for name, tc := range crashCases {
		inBothForms(t, name, func(t *testing.T, typed bool) {
			t.Helper()
			for state, next := range map[string]string{
				"the earlier state": tc.first,
				"another state":     tc.first[:len(tc.first)-1] + ", metadata: {labels: {state: another}}}",
				"the same state":    tc.second,
			} {
				for caches, strips := range map[string]bool{"a whole cache": false, "a cache that strips": true} {
					t.Run(state+", "+caches, func(t *testing.T) {
						f := tc.crashed(t, typed)
						before := f.live(next)
						f.restart(strips)
						f.mustEnsure(next)
						after := f.live(next)
						require.Equal(t, before.GetUID(), after.GetUID())
						requireAt(t, after, "metadata.labels.theirs=x")
						require.NotContains(t, specified(after)["owners"], fieldOwner+" Update")
						require.Equal(t, ensure.Unchanged, f.mustEnsure(next).Operation)
						f.restart(strips)
						require.Equal(t, ensure.Unchanged, f.mustEnsure(next).Operation)
						require.Equal(t, specified(after), specified(f.live(next)))
					})
				}
			}
		})
	}
}

// TestNoteOfAnEarlierVersion: an earlier version of this library noted the fields that it took over beside the
// digest. The next pass removes the note.
func TestNoteOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	for cache, strips := range map[string]bool{"a whole cache": false, "a cache that strips": true} {
		t.Run(cache, func(t *testing.T) {
			t.Parallel()
			tc := crashCases["a struct"]
			f := tc.crashed(t, false)
			const key = "spec-hash.trueup-go.github.io/" + fieldOwner
			digest := f.live(tc.first).GetAnnotations()[key]
			note := digest + ` taken over for v1-0123456789abcdef0123456789abcdef {"f:spec":{"f:strategy":{"f:rollingUpdate":{"f:maxSurge":{}}}}}`
			f.write(tc.first, write{by: fieldOwner, yaml: fmt.Sprintf("metadata: {annotations: {%s: %q}}", key, note)})
			f.restart(strips)
			require.Equal(t, ensure.Updated, f.mustEnsure(tc.first).Operation)
			require.Equal(t, digest, f.live(tc.first).GetAnnotations()[key])
			require.Equal(t, ensure.Unchanged, f.mustEnsure(tc.first).Operation)
		})
	}
}

// TestCrashedRepairOfAnAdoptedObject: giving the object up removes the digest, and what was taken over.
func TestCrashedRepairOfAnAdoptedObject(t *testing.T) {
	t.Parallel()
	inBothForms(t, "a struct", func(t *testing.T, typed bool) {
		t.Helper()
		tc := crashCases["a struct"]
		f := newFixture(t, typed, nil)
		plain := *f
		plain.typed = false
		require.NoError(t, program.Client(t, shared, other).Create(t.Context(), plain.parse(strings.Replace(rolling, "strategy: {type: RollingUpdate}, ", "", 1))))
		_, err := f.ensure(tc.first, ensure.Adopt())
		require.NoError(t, err)
		f.write(tc.first, tc.others)
		broken := &crashingClient{Client: f.client}
		_, err = ensure.Object(t.Context(), ensure.New(broken, broken, fieldOwner), f.parse(tc.second), ensure.Adopt())
		require.ErrorIs(t, err, errCrashed)
		f.restart(false)
		result, err := ensure.Absent(t.Context(), f.ensurer, f.parse(tc.first))
		require.NoError(t, err)
		require.Equal(t, ensure.Released, result.Operation)
		live := f.live(tc.first)
		require.NotContains(t, live.GetAnnotations(), "spec-hash.trueup-go.github.io/"+fieldOwner)
		require.NotContains(t, specified(live)["owners"], fieldOwner+" "+string(metav1.ManagedFieldsOperationApply))
		require.NotContains(t, specified(live)["owners"], fieldOwner+" "+string(metav1.ManagedFieldsOperationUpdate))
	})
}
