package repair_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// TestDependentsStay: an item that mounts a volume dropped by desired is not removed, as it is
// valid together with desired.
func TestDependentsStay(t *testing.T) {
	t.Parallel()
	volume := with("    spec:", "      volumes: [{name: data, emptyDir: {}}]")
	for name, yaml := range map[string]string{
		"containers[name=sidecar]": `{containers: [{name: sidecar, image: "example.com/x:1", volumeMounts: [{name: data, mountPath: /data}]}]}`,
		"volumeMounts":             `{containers: [{name: main, volumeMounts: [{name: data, mountPath: /data}]}]}`,
	} {
		inBothForms(t, name, func(t *testing.T, typed bool) {
			t.Helper()
			f := newFixture(t, typed, nil)
			f.mustEnsure(volume)
			f.write(volume, write{by: mesh, yaml: `spec: {template: {spec: ` + yaml + `}}`})
			before := f.live(volume)
			_, err := f.ensureAllowingRecreation(deployment)
			require.ErrorIs(t, err, ensure.ErrInvalid)
			require.ErrorContains(t, err, name)
			require.ErrorContains(t, err, mesh)
			require.Equal(t, specified(before), specified(f.live(deployment)))
		})
	}
}

// TestDependentsStayBesideAnObstacle: one that is in the way for another reason does not change
// that.
func TestDependentsStayBesideAnObstacle(t *testing.T) {
	t.Parallel()
	f := newFixture(t, true, nil)
	f.mustEnsure(with("    spec:", "      volumes: [{name: data, emptyDir: {}}]"))
	f.write(deployment, write{by: mesh, yaml: `spec: {template: {spec: {containers: [
		{name: sidecar, image: "example.com/x:1", volumeMounts: [{name: data, mountPath: /data}]}]}}}`})
	f.write(deployment, write{by: editor, yaml: `spec: {template: {spec: {hostPID: true}}}`})
	before := f.live(deployment)
	_, err := f.ensureAllowingRecreation(with("    spec:", "      shareProcessNamespace: true"))
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.ErrorContains(t, err, "containers[name=sidecar], which "+mesh+" sets")
	require.Equal(t, specified(before), specified(f.live(deployment)))
}

// TestDependentsOnFieldsStay: a sidecar that needs a field which desired drops.
func TestDependentsOnFieldsStay(t *testing.T) {
	t.Parallel()
	const pods = `{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, ` +
		`spec: {os: {name: windows}, HOST containers: [{name: main, image: "example.com/a:1"SECURITY}]}}}}`
	const security = `securityContext: {windowsOptions: {hostProcess: true}}`
	first := strings.NewReplacer("HOST", "hostNetwork: true,", "SECURITY", ", "+security).Replace(pods)
	then := strings.NewReplacer("HOST", "", "SECURITY", "").Replace(pods)
	f := newFixture(t, true, nil)
	f.mustEnsure(first)
	f.write(first, write{by: mesh, yaml: `spec: {template: {spec: {containers: [{name: sidecar, image: "example.com/x:1", ` + security + `}]}}}`})
	before := f.live(first)
	_, err := f.ensureAllowingRecreation(then)
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.ErrorContains(t, err, "containers[name=sidecar], which "+mesh+" sets")
	require.Equal(t, specified(before), specified(f.live(first)))
}

// limited returns the deployment with a limit, and requested returns another program's requests.
func limited(cpu string) string {
	return strings.Replace(deployment, "image: example.com/web:1", `image: example.com/web:1, resources: {limits: {cpu: `+strconv.Quote(cpu)+`}}`, 1)
}

const requested = `spec: {template: {spec: {containers: [{name: main, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}}}`

// TestRemovalsHaveNames: without a Go type, too, an item is named by its keys.
func TestRemovalsHaveNames(t *testing.T) {
	t.Parallel()
	inBothForms(t, "a port", func(t *testing.T, typed bool) {
		t.Helper()
		f := newFixture(t, typed, nil)
		f.mustEnsure(service)
		f.write(service, movedPort)
		res := f.mustEnsure(service)
		require.Contains(t, res.Changes, ensure.Change{Path: "spec.ports[port=81,protocol=TCP]", Manager: editor}, "%v", res.Changes)
	})
}

// TestDuplicateKeys: of two items with one key an apply removes both or none, so none goes.
func TestDuplicateKeys(t *testing.T) {
	t.Parallel()
	inBothForms(t, "container ports", func(t *testing.T, typed bool) {
		t.Helper()
		f, before := withOnePortTwice(t, typed)
		_, err := f.ensureAllowingRecreation(strings.Replace(deployment, "web:1}", "web:1, ports: [{name: http, containerPort: 80}]}", 1))
		require.ErrorIs(t, err, ensure.ErrInvalid, "%s", explain(err))
		require.ErrorContains(t, err, "ports[containerPort=81,protocol=TCP], which "+editor+" sets")
		require.Equal(t, specified(before), specified(f.live(deployment)))
	})
}

// withOnePortTwice ensures the deployment, and has somebody add two ports with one key.
func withOnePortTwice(t *testing.T, typed bool) (f *fixture, before *unstructured.Unstructured) {
	t.Helper()
	f = newFixture(t, typed, nil)
	f.mustEnsure(deployment)
	live := f.live(deployment)
	main, _ := at(live.Object, "spec.template.spec.containers[name=main]").(map[string]any)
	main["ports"] = []any{
		map[string]any{"containerPort": int64(81), "protocol": "TCP", "name": "http"},
		map[string]any{"containerPort": int64(81), "protocol": "TCP", "name": "metrics"},
	}
	live.SetResourceVersion("") // the controllers write, too
	require.NoError(t, program.Client(t, shared, editor).Update(t.Context(), live))
	return f, f.live(deployment)
}

// TestDefaultBesideDuplicateKeys: with such items, the API server does not tell which fields nobody owns. A default that the API server
// names goes all the same, and the object is not deleted because of one.
func TestDefaultBesideDuplicateKeys(t *testing.T) {
	t.Parallel()
	inBothForms(t, "rollingUpdate", func(t *testing.T, typed bool) {
		t.Helper()
		f, before := withOnePortTwice(t, typed)
		_, err := f.ensureAllowingRecreation(strings.Replace(deployment, "replicas: 1", "replicas: 1\n  strategy: {type: Recreate}", 1))
		require.NoError(t, err, "%s", explain(err))
		after := f.live(deployment)
		require.Equal(t, before.GetUID(), after.GetUID())
		require.Equal(t, map[string]any{"type": "Recreate"}, at(after.Object, "spec.strategy"))
		require.Equal(t, at(before.Object, "spec.template"), at(after.Object, "spec.template"))
	})
}

// TestImmutableByOthers: a field that a user made immutable stays immutable, although the removal
// of this field alone is refused because of another field.
func TestImmutableByOthers(t *testing.T) {
	t.Parallel()
	const settings = `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}}`
	inBothForms(t, "a ConfigMap", func(t *testing.T, typed bool) {
		t.Helper()
		f := newFixture(t, typed, nil)
		f.mustEnsure(settings)
		f.write(settings, write{by: editor, yaml: `{immutable: true}`})
		_, err := f.ensure(`{apiVersion: v1, kind: ConfigMap, data: {a: "2"}}`)
		require.ErrorIs(t, err, ensure.ErrImmutable, "%s", explain(err))
	})
}

// TestUnfinishedJudgement: if the server was too busy to say whether a change is possible at all,
// the operator asks again once the wait is over.
func TestUnfinishedJudgement(t *testing.T) {
	t.Parallel()
	var b *failingClient
	f := newFixture(t, true, func(c client.Client) client.Client {
		b = &failingClient{Client: c}
		return b
	})
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f.ensurer = ensure.New(f.client, f.client, fieldOwner, testclock.With[ensure.Setting](clock))
	f.mustEnsure(deployment)
	changed := strings.ReplaceAll(deployment, "{app: web}", "{app: other}")
	b.fails = true
	_, err := f.ensure(changed)
	require.ErrorIs(t, err, ensure.ErrInvalid)
	var failed *ensure.Error
	require.ErrorAs(t, err, &failed)
	clock.SetTime(clock.Now().Add(failed.After))
	b.fails = false
	_, err = f.ensure(changed)
	require.ErrorIs(t, err, ensure.ErrImmutable, "%s", explain(err))
}

// A failingClient fails each creation while fails is set, as with a server that is too busy.
type failingClient struct {
	client.Client

	fails bool
}

func (b *failingClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if b.fails {
		return apierrors.NewServerTimeout(schema.GroupResource{Resource: "deployments"}, "create", 1)
	}
	return b.Client.Create(ctx, obj, opts...)
}

// TestRepairBelowAnEmptyMap: in the managed fields, a map applied empty looks like a map that is
// written as a whole. Server-side values in the map can block a change, but are no reason to
// delete. Neither is a change by somebody else who comes between each refusal and the repair.
func TestRepairBelowAnEmptyMap(t *testing.T) {
	t.Parallel()
	late := &program.LateClient{}
	f := newFixture(t, false, func(c client.Client) client.Client {
		late.Client = c
		return late
	})
	f.mustEnsure(with("spec:", "  strategy: {}"))
	before := f.live(deployment)
	refusals := 0
	late.Meanwhile = func() {
		refusals++
		f.write(deployment, write{by: editor, yaml: fmt.Sprintf(`{metadata: {annotations: {note: "%d"}}}`, refusals)})
	}
	res, err := f.ensureAllowingRecreation(with("spec:", "  strategy: {type: Recreate}"))
	require.NoError(t, err, "%s", explain(err))
	require.NotZero(t, refusals)
	require.Equal(t, ensure.Updated, res.Operation)
	require.Equal(t, before.GetUID(), f.live(deployment).GetUID())
	requireAt(t, f.live(deployment), "spec.strategy.type=Recreate", fmt.Sprint("metadata.annotations.note=", refusals))
}

// TestBrokenRepairGivesBack: if the apply after taking over does not arrive and desired changes,
// the other owners keep their fields.
func TestBrokenRepairGivesBack(t *testing.T) {
	t.Parallel()
	inBothForms(t, "of a port", func(t *testing.T, typed bool) {
		t.Helper()
		f := newFixture(t, typed, func(c client.Client) client.Client { return &program.FailingClient{Client: c, FailAt: 4} })
		f.mustEnsure(service)
		f.write(service, metricsPort)
		before := f.live(service)
		_, err := f.ensure(strings.Replace(service, "ports: [", "ports: [{name: metrics, port: 81, protocol: TCP}, ", 1))
		require.ErrorIs(t, err, program.ErrConnectionLost)
		requireAt(t, f.live(service), "spec.ports[name=metrics].port=9090")
		f.mustEnsure(service)
		require.Equal(t, specified(before), specified(f.live(service)))
	})
}
