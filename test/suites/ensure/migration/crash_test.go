package migration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// A crashingClient loses its connection for good with one of its patches, counted from 0.
type crashingClient struct {
	client.Client

	at        int
	delivered bool // the server does that patch all the same
	patches   int
}

func (c *crashingClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.patches++
	if c.patches-1 < c.at {
		return c.Client.Patch(ctx, obj, patch, opts...)
	}
	if c.patches-1 == c.at && c.delivered {
		_ = c.Client.Patch(ctx, obj, patch, opts...) // nobody hears what comes of it
	}
	return program.ErrConnectionLost
}

func (c *crashingClient) hasCrashed() bool { return c.patches > c.at }

// A crash is what an operator is doing when it crashes.
type crash struct {
	begin    func(t *testing.T, s scene)
	desired  string
	settings []ensure.Setting
	opts     []ensure.Option
}

func crashes() map[string]crash {
	const full = "spec: {replicas: 3, template: {metadata: {annotations: {a: x}}}}"
	const rolling = "spec: {strategy: {type: RollingUpdate}}"
	byOld := func(text string) func(*testing.T, scene) {
		return func(t *testing.T, s scene) {
			t.Helper()
			require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), s.desired(text)))
		}
	}
	applied := func(name, text string) func(*testing.T, scene) {
		return func(t *testing.T, s scene) {
			t.Helper()
			ensureBesideControllers(t, ensure.New(s.client, s.client, name), s.written(t, s.desired(text)))
		}
	}
	from := ensure.MigrateFrom(oldName)
	return map[string]crash{
		"a migration":      {byOld(full), full, nil, []ensure.Option{from}},
		"a dropped field":  {byOld(full), "", nil, []ensure.Option{from}},
		"another strategy": {byOld(full), "spec: {strategy: {type: Recreate}}", nil, []ensure.Option{from}},
		"retired fields":   {byOld(full), "", nil, []ensure.Option{from, ensure.Retire("spec.template.metadata.annotations[a]")}},
		"what nobody owns": {
			func(t *testing.T, s scene) {
				t.Helper()
				byOld("spec: {strategy: {rollingUpdate: {maxSurge: 2}}}")(t, s)
				s.release(rolling)
			}, rolling, nil, []ensure.Option{from, ensure.Retire("spec.strategy.rollingUpdate.maxSurge")},
		},
		"released fields":     {applied(taker, full), "", nil, []ensure.Option{ensure.Release("spec.replicas")}},
		"a released field":    {byOld(full), "", nil, []ensure.Option{from, ensure.Release("spec.replicas")}},
		"fields set once":     {applied(taker, full), "spec: {replicas: 7}", nil, []ensure.Option{ensure.Once("spec.replicas")}},
		"another field owner": {applied(formerName, full), "", []ensure.Setting{ensure.FormerFieldOwners(formerName)}, nil},
	}
}

// TestCrashes: after a crash at each request of a first pass, the next program ends where one ends that did not crash.
func TestCrashes(t *testing.T) {
	for about, tc := range crashes() {
		for form, written := range writings {
			for how, delivered := range map[string]bool{"before the request": false, "after the request": true} {
				t.Run(about+"/"+form+"/"+how, func(t *testing.T) {
					t.Parallel()
					begin := func(t *testing.T) scene {
						t.Helper()
						s := newScene(t, places()["Deployment"], written)
						tc.begin(t, s)
						return s
					}
					pass := func(s scene, c client.Client) (ensure.Result[client.Object], error) {
						e := ensure.New(c, c, taker, tc.settings...)
						opts := append([]ensure.Option{ensure.Adopt()}, tc.opts...)
						return ensure.Object(t.Context(), e, s.written(t, s.desired(tc.desired)), opts...)
					}
					finish := func(s scene) map[string]any {
						for range 2 {
							requireEventually(t, func() error { _, err := pass(s, s.client); return err })
						}
						result, err := pass(s, s.client)
						require.NoError(t, err)
						require.Equal(t, ensure.Unchanged, result.Operation)
						return s.all()
					}
					want := finish(begin(t))
					for at, crashed := 0, true; crashed; at++ {
						s := begin(t)
						c := &crashingClient{Client: s.client, at: at, delivered: delivered}
						_, _ = pass(s, c) // a lost answer to a dry run after the writes is no error
						crashed = c.hasCrashed()
						require.True(t, crashed || at > 0, "the pass has requests")
						require.Empty(t, cmp.Diff(want, finish(s)), "after a crash at request %d", at)
					}
				})
			}
		}
	}
}

// requireEventually repeats what conflicts with controllers.
func requireEventually(t *testing.T, do func() error) {
	t.Helper()
	var err error
	require.Eventually(t, func() bool {
		err = do()
		return !apierrors.IsConflict(err)
	}, limit, tick)
	require.NoError(t, err)
}

// all is the content and the entries of all managers but controllers.
func (s scene) all() map[string]any {
	s.t.Helper()
	found := map[string]any{"": s.content()}
	for _, entry := range liveOf(s.t, s.client, idle(s.namespace)).ManagedFields {
		if entry.Manager != "kube-controller-manager" {
			var fields any
			require.NoError(s.t, json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields))
			found[fmt.Sprint(entry.Manager, entry.Operation, entry.Subresource)] = fields
		}
	}
	return found
}

// TestTwoProcesses: two replicas of the operator migrate the same objects at once.
func TestTwoProcesses(t *testing.T) {
	for about, tc := range crashes() {
		t.Run(about, func(t *testing.T) {
			begin := func() scene {
				s := newScene(t, places()["Deployment"], typedAsIs)
				tc.begin(t, s)
				return s
			}
			pass := func(s scene) (ensure.Operation, error) {
				c := program.Client(t, shared, taker)
				e, opts := ensure.New(c, c, taker, tc.settings...), append([]ensure.Option{ensure.Adopt()}, tc.opts...)
				result, err := ensure.Object(t.Context(), e, s.desired(tc.desired), opts...)
				return result.Operation, err
			}
			alone, together := begin(), begin()
			for range 2 {
				requireEventually(t, func() error { _, err := pass(alone); return err })
			}
			var both sync.WaitGroup
			failures := make([]error, 2)
			for i := range failures {
				both.Go(func() { _, failures[i] = pass(together) })
			}
			both.Wait()
			for _, err := range failures {
				require.True(t, err == nil || apierrors.IsConflict(err), "%v", err)
			}
			requireEventually(t, func() error { _, err := pass(together); return err })
			operation, err := pass(together)
			require.NoError(t, err)
			require.Equal(t, ensure.Unchanged, operation)
			require.Empty(t, cmp.Diff(alone.all(), together.all()))
		})
	}
}

// TestARefusalThatIsOver: of two replicas whose applies are refused, one repairs the object before the other one looks why.
func TestARefusalThatIsOver(t *testing.T) {
	tc := crashes()["another strategy"]
	s := newScene(t, places()["Deployment"], typedAsIs)
	tc.begin(t, s)
	pass := func(c client.Client) error {
		opts := append([]ensure.Option{ensure.Adopt()}, tc.opts...)
		_, err := ensure.Object(t.Context(), ensure.New(c, c, taker), s.desired(tc.desired), opts...)
		return err
	}
	late := &program.LateClient{Client: program.Client(t, shared, taker)}
	refusals := 0
	late.Meanwhile = func() {
		refusals++
		requireEventually(t, func() error { return pass(s.client) })
	}
	requireEventually(t, func() error { return pass(late) })
	require.Equal(t, 1, refusals)
	require.NoError(t, pass(s.client))
}
