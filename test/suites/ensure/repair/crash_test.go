package repair_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
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
	kept   string // of the others, unless second is applied
}

const rolling = `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, strategy: {type: RollingUpdate}, selector: {matchLabels: {app: x}},
  template: {metadata: {labels: {app: x}}, spec: {containers: [{name: main, image: x}]}}}}`

var withoutStrategy = strings.Replace(rolling, "strategy: {type: RollingUpdate}, ", "", 1)

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
	broken := &crashingClient{Client: f.client}
	_, err := ensure.Object(t.Context(), ensure.New(broken, broken, fieldOwner), f.parse(c.second), opts...)
	require.ErrorIs(t, err, errCrashed)
	require.True(t, broken.crashed)
	requireAt(t, f.live(c.first), c.kept)
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

// TestCrashedRepair: a process ends after taking fields over, and the next one wants the earlier
// state, another one, or the same.
func TestCrashedRepair(t *testing.T) {
	t.Parallel()
	for name, tc := range crashCases {
		inBothForms(t, name, func(t *testing.T, typed bool) {
			t.Helper()
			another := tc.first[:len(tc.first)-1] + ", metadata: {labels: {state: another}}}"
			for caches, strips := range map[string]bool{"a whole cache": false, "a cache that strips": true} {
				t.Run("the earlier state, "+caches, func(t *testing.T) {
					f := tc.crashed(t, typed)
					f.restart(strips)
					f.mustEnsure(tc.first)
					requireAt(t, f.live(tc.first), tc.kept)
					require.Equal(t, ensure.Unchanged, f.mustEnsure(tc.first).Operation)
					f.restart(strips)
					require.Equal(t, ensure.Unchanged, f.mustEnsure(tc.first).Operation)
					f.mustEnsure(another)
					requireAt(t, f.live(tc.first), tc.kept)
				})
				t.Run("another state, "+caches, func(t *testing.T) {
					f := tc.crashed(t, typed)
					f.restart(strips)
					f.mustEnsure(another)
					requireAt(t, f.live(tc.first), tc.kept, "metadata.labels.state=another")
					require.Equal(t, ensure.Unchanged, f.mustEnsure(another).Operation)
				})
				t.Run("the same state, "+caches, func(t *testing.T) {
					f := tc.crashed(t, typed)
					f.restart(strips)
					f.mustEnsure(tc.second)
					require.NotContains(t, specified(f.live(tc.first))["owners"], fieldOwner+" Update")
					require.Equal(t, ensure.Unchanged, f.mustEnsure(tc.second).Operation)
				})
			}
			t.Run("a migration", func(t *testing.T) {
				f := tc.crashed(t, typed, ensure.MigrateFrom("old-manager"))
				f.restart(false)
				result, err := f.ensure(tc.first, ensure.MigrateFrom("old-manager"))
				require.NoError(t, err)
				requireAt(t, f.live(tc.first), tc.kept)
				require.NotEqual(t, ensure.Migrated, result.Cause, "the old manager wrote nothing")
			})
			for version, next := range nextVersions {
				t.Run(version, func(t *testing.T) {
					f := tc.crashed(t, typed)
					e, opts := next(f.client)
					result, err := ensure.Object(t.Context(), e, f.parse(tc.first), opts...)
					require.NoError(t, err)
					requireAt(t, f.live(tc.first), tc.kept)
					require.NotContains(t, fmt.Sprint(result.Changes), "spec.")
				})
			}
		})
	}
}

// nextVersions of the program find the digest, and the note beside it, in another place than their own.
var nextVersions = map[string]func(c client.Client) (*ensure.Ensurer, []ensure.Option){
	"a new field owner": func(c client.Client) (*ensure.Ensurer, []ensure.Option) {
		return ensure.New(c, c, "new-operator"), []ensure.Option{ensure.MigrateFrom(fieldOwner)}
	},
	"another annotation": func(c client.Client) (*ensure.Ensurer, []ensure.Option) {
		return ensure.New(c, c, fieldOwner, ensure.WithDigest(hash.Default(), hash.Annotation("example.com/digest"))), nil
	},
	"a label": func(c client.Client) (*ensure.Ensurer, []ensure.Option) {
		return ensure.New(c, c, fieldOwner, ensure.WithDigest(hash.Default(), hash.Label("example.com/digest"))), nil
	},
}

// TestTwoCrashes: the second process takes over another field for the same desired state, and ends, too.
func TestTwoCrashes(t *testing.T) {
	t.Parallel()
	inBothForms(t, "a struct", func(t *testing.T, typed bool) {
		t.Helper()
		tc := crashCases["a struct"]
		f := tc.crashed(t, typed)
		f.write(tc.first, write{by: "somebody", yaml: `spec: {strategy: {rollingUpdate: {maxUnavailable: 3}}}`})
		broken := &crashingClient{Client: f.client}
		_, err := ensure.Object(t.Context(), ensure.New(broken, broken, fieldOwner), f.parse(tc.second))
		require.ErrorIs(t, err, errCrashed)
		f.restart(false)
		f.mustEnsure(tc.first)
		requireAt(t, f.live(tc.first), tc.kept, "spec.strategy.rollingUpdate.maxUnavailable=3")
	})
}

// TestCrashedRepairInADroppedStruct: the next process desires no field of the struct any more in which
// the fields were taken over.
func TestCrashedRepairInADroppedStruct(t *testing.T) {
	t.Parallel()
	inBothForms(t, "a struct", func(t *testing.T, typed bool) {
		t.Helper()
		tc := crashCases["a struct"]
		f := tc.crashed(t, typed)
		f.restart(false)
		f.mustEnsure(withoutStrategy)
		requireAt(t, f.live(tc.first), tc.kept)
		require.Equal(t, ensure.Unchanged, f.mustEnsure(withoutStrategy).Operation)
	})
}

type replaceable struct{ client.Client }

// A frozenCache shows an old copy.
type frozenCache struct {
	client.Client

	shown *unstructured.Unstructured // nil until the cache freezes
}

func (f *frozenCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	into, ok := obj.(*unstructured.Unstructured)
	if f.shown == nil || !ok {
		return f.Client.Get(ctx, key, obj, opts...)
	}
	f.shown.DeepCopyInto(into)
	return nil
}

// TestRepairInterruptedBehindItsCache: the API server is away after the fields were taken over, and the
// cache does not show that the fields are ours when another state is desired.
func TestRepairInterruptedBehindItsCache(t *testing.T) {
	t.Parallel()
	tc := crashCases["a struct"]
	f := newFixture(t, false, nil)
	server := &replaceable{f.client}
	cache := &frozenCache{Client: server}
	f.ensurer = ensure.New(cache, server, fieldOwner)
	f.mustEnsure(tc.first)
	f.write(tc.first, tc.others)
	f.mustEnsure(tc.first)
	cache.shown = f.live(tc.first)

	server.Client = &crashingClient{Client: f.client}
	_, err := f.ensure(tc.second)
	require.ErrorIs(t, err, errCrashed)

	server.Client = f.client
	f.mustEnsure(tc.first[:len(tc.first)-1] + ", metadata: {labels: {state: another}}}")
	requireAt(t, f.live(tc.first), tc.kept, "metadata.labels.state=another")
}

// TestCrashedRepairOfAnAdoptedObject: giving the object up keeps the fields that were taken over, and
// removes the digest. Nobody else has set a field of the struct before.
func TestCrashedRepairOfAnAdoptedObject(t *testing.T) {
	t.Parallel()
	inBothForms(t, "a struct", func(t *testing.T, typed bool) {
		t.Helper()
		tc := crashCases["a struct"]
		f := newFixture(t, typed, nil)
		plain := *f
		plain.typed = false
		require.NoError(t, program.Client(t, shared, other).Create(t.Context(), plain.parse(withoutStrategy)))
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
		requireAt(t, live, tc.kept)
		require.NotContains(t, live.GetAnnotations(), "spec-hash.trueup-go.github.io/"+fieldOwner)
		require.NotContains(t, specified(live)["owners"], fieldOwner+" "+string(metav1.ManagedFieldsOperationApply))
		require.NotContains(t, specified(live)["owners"], fieldOwner+" "+string(metav1.ManagedFieldsOperationUpdate))
	})
}
