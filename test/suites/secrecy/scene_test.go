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

// A scene is an operator that follows the documentation, and records its output.
type scene struct {
	t         *testing.T
	ctx       context.Context
	scheme    *runtime.Scheme
	human     client.Client // a person with every right
	recorder  events.EventRecorder
	ensure    *ensure.Ensurer
	namespace string
	vault     *Vault

	said   strings.Builder // errors and Changes
	writes int             // that a Result told of, which have an event each
	quoted int             // errors behind which the API server's own text holds the mark
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, ctx: t.Context(), scheme: runtime.NewScheme()}
	require.NoError(t, clientgoscheme.AddToScheme(s.scheme))
	require.NoError(t, addVaults(s.scheme))
	var err error
	s.human, err = client.New(shared.Config(), client.Options{Scheme: s.scheme})
	require.NoError(t, err)
	require.NoError(t, cluster.Define(s.ctx, s.human, vaultCRD()))
	require.NoError(t, cluster.Define(s.ctx, s.human, safeCRD()))
	s.namespace = shared.Namespace(t)
	s.recorder = s.startManager().GetEventRecorder(operator)
	s.ensure = s.ensurer(s.human)
	s.vault = &Vault{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "vault"}}
	require.NoError(t, s.human.Create(s.ctx, s.vault))
	return s
}

// startManager starts one, which sends the events.
func (s *scene) startManager() ctrl.Manager {
	mgr, err := ctrl.NewManager(shared.Config(), ctrl.Options{
		Scheme: s.scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		require.NoError(s.t, <-ended)
	})
	return mgr
}

// sensitive are the kinds that hold the mark, beside Secret.
var sensitive = ensure.WithSensitive(
	schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Group: "apps", Kind: "Deployment"},
	schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}, safeGVK.GroupKind(),
)

func (s *scene) ensurer(c client.Client, settings ...ensure.Setting) *ensure.Ensurer {
	return ensure.New(c, s.human, operator, append(settings, sensitive, ensure.WithRecorder(s.recorder))...)
}

// object is ensure.Object, for the vault.
func (s *scene) object(desired client.Object, opts ...ensure.Option) error {
	return s.objectBy(s.ensure, desired, opts...)
}

func (s *scene) objectBy(e *ensure.Ensurer, desired client.Object, opts ...ensure.Option) error {
	result, err := ensure.Object(s.ctx, e, desired, append(opts, ensure.ControlledBy(s.vault))...)
	s.note(result)
	return err
}

// note logs a result as an operator does.
func (s *scene) note(result ensure.Result[client.Object]) {
	if result.Operation == "" || result.Operation == ensure.Unchanged {
		return
	}
	s.writes++
	log.FromContext(s.ctx).Info("wrote child", "operation", result.Operation, "cause", result.Cause, "changes", result.Changes)
	for _, change := range result.Changes {
		s.say(change.String())
		s.say(fmt.Sprintf("%+v", change))
	}
}

// report reports err as an operator does, in the log and in a condition.
func (s *scene) report(err error) {
	s.t.Helper()
	log.FromContext(s.ctx).Error(err, "Reconciler error")
	s.say(err.Error())
	s.say(fmt.Sprintf("%v %s", err, ensure.Reason(err)))
	for behind := err; behind != nil; behind = errors.Unwrap(behind) {
		if isMarked(behind.Error()) {
			s.quoted++
			break
		}
	}
	set := status.For(s.vault)
	require.NoError(s.t, status.Patch(s.ctx, s.human, s.vault, func(v *Vault) {
		set.False(&v.Status.Conditions, "Ready", ensure.Reason(err), err.Error())
	}, status.FieldOwner(operator)))
	s.say(s.conditions())
}

func (s *scene) conditions() string {
	live := &Vault{}
	require.NoError(s.t, s.human.Get(s.ctx, client.ObjectKeyFromObject(s.vault), live))
	return fmt.Sprintf("%+v", live.Status)
}

func (s *scene) say(text string) { s.said.WriteString(text + "\n") }

// events returns the events of the namespace, once each write in a Result has one.
func (s *scene) events() string {
	s.t.Helper()
	told := &eventsv1.EventList{}
	require.NoError(s.t, wait.PollUntilContextTimeout(s.ctx, tick, limit, true, func(ctx context.Context) (bool, error) {
		err := s.human.List(ctx, told, client.InNamespace(s.namespace))
		return len(told.Items) >= s.writes, err // calls that ended in an error wrote, too
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
