package secrecy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

const operator = "vault-operator"

// A fixture is an operator that follows the documentation, and records its output.
type fixture struct {
	t         *testing.T
	ctx       context.Context
	scheme    *runtime.Scheme
	admin     client.Client // may do everything
	recorder  events.EventRecorder
	ensure    *ensure.Ensurer
	namespace string
	vault     *Vault

	printed strings.Builder // errors and Changes
	writes  int             // that a Result told of, which have an event each
	quoted  int             // errors behind which the API server's own text contains the secret
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: t.Context(), scheme: runtime.NewScheme()}
	require.NoError(t, clientgoscheme.AddToScheme(f.scheme))
	require.NoError(t, addVaults(f.scheme))
	var err error
	f.admin, err = client.New(shared.Config(), client.Options{Scheme: f.scheme})
	require.NoError(t, err)
	require.NoError(t, cluster.Define(f.ctx, f.admin, vaultCRD()))
	require.NoError(t, cluster.Define(f.ctx, f.admin, safeCRD()))
	f.namespace = shared.Namespace(t)
	f.recorder = f.startManager().GetEventRecorder(operator)
	f.ensure = f.ensurer(f.admin)
	f.vault = &Vault{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "vault"}}
	require.NoError(t, f.admin.Create(f.ctx, f.vault))
	return f
}

// startManager starts one, which sends the events.
func (f *fixture) startManager() ctrl.Manager {
	mgr, err := ctrl.NewManager(shared.Config(), ctrl.Options{
		Scheme: f.scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		require.NoError(f.t, <-ended)
	})
	return mgr
}

// sensitive are the kinds that contain the secret, beside Secret.
var sensitive = ensure.WithSensitive(
	schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Group: "apps", Kind: "Deployment"},
	schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}, safeGVK.GroupKind(),
)

func (f *fixture) ensurer(c client.Client, settings ...ensure.Setting) *ensure.Ensurer {
	return ensure.New(c, f.admin, operator, append(settings, sensitive, ensure.WithRecorder(f.recorder))...)
}

// object is ensure.Object, for the vault.
func (f *fixture) object(desired client.Object, opts ...ensure.Option) error {
	return f.objectBy(f.ensure, desired, opts...)
}

func (f *fixture) objectBy(e *ensure.Ensurer, desired client.Object, opts ...ensure.Option) error {
	result, err := ensure.Object(f.ctx, e, desired, append(opts, ensure.ControlledBy(f.vault))...)
	f.note(result)
	return err
}

// note counts and prints a result as a caller may do. The library has logged the write.
func (f *fixture) note(result ensure.Result[client.Object]) {
	if result.Operation == "" || result.Operation == ensure.Unchanged {
		return
	}
	f.writes++
	for _, change := range result.Changes {
		f.print(change.String())
		f.print(fmt.Sprintf("%+v", change))
	}
}

// report reports err as an operator does, in the log and in a condition.
func (f *fixture) report(err error) {
	f.t.Helper()
	log.FromContext(f.ctx).Error(err, "Reconciler error")
	f.print(err.Error())
	f.print(fmt.Sprintf("%v %s", err, ensure.Reason(err)))
	for behind := err; behind != nil; behind = errors.Unwrap(behind) {
		if containsSecret(behind.Error()) {
			f.quoted++
			break
		}
	}
	set := status.For(f.vault)
	require.NoError(f.t, status.Patch(f.ctx, f.admin, f.vault, func(v *Vault) {
		set.False(&v.Status.Conditions, "Ready", ensure.Reason(err), err.Error())
	}, status.FieldOwner(operator)))
	f.print(f.conditions())
}

func (f *fixture) conditions() string {
	live := &Vault{}
	require.NoError(f.t, f.admin.Get(f.ctx, client.ObjectKeyFromObject(f.vault), live))
	return fmt.Sprintf("%+v", live.Status)
}

func (f *fixture) print(text string) { f.printed.WriteString(text + "\n") }

// events returns the events of the namespace, once each write in a Result has one.
func (f *fixture) events() string {
	f.t.Helper()
	told := &eventsv1.EventList{}
	require.NoError(f.t, wait.PollUntilContextTimeout(f.ctx, tick, limit, true, func(ctx context.Context) (bool, error) {
		err := f.admin.List(ctx, told, client.InNamespace(f.namespace))
		return len(told.Items) >= f.writes, err // calls that ended in an error wrote, too
	}))
	return fmt.Sprintf("%+v", told.Items)
}

// measured returns the metrics that a scrape would show.
func measured(t *testing.T) string {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, family := range families {
		text.WriteString(family.String() + "\n")
	}
	return text.String()
}
