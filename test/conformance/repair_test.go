package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/cluster"
)

// foreignPorts is a sidecar before ours, with a port of the same name and number.
var foreignPorts = on("a sidecar with ports", func(d *appsv1.Deployment) {
	sidecar := corev1.Container{
		Name: "sidecar", Image: "example.com/sidecar:1",
		Ports: []corev1.ContainerPort{{Name: "theirs", ContainerPort: 99}, {Name: "more", ContainerPort: 98}},
	}
	d.Spec.Template.Spec.Containers = append([]corev1.Container{sidecar}, d.Spec.Template.Spec.Containers...)
})

// TestRepair: edits whose leftovers make every apply invalid are put back all the
// same, by five requests that change nothing else.
func TestRepair(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		subject
		additions, edits []edit
	}{
		{
			subject: service(),
			edits: []edit{
				on("a port", func(s *corev1.Service) { s.Spec.Ports[0].Port = 54 }),
				on("a protocol", func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolSCTP }),
			},
		},
		{
			subject:   deployment(),
			additions: []edit{foreignPorts},
			edits: []edit{
				on("a named containerPort", func(d *appsv1.Deployment) { mainOf(&d.Spec.Template).Ports[0].ContainerPort = 54 }),
				on("another kind of probe", func(d *appsv1.Deployment) {
					mainOf(&d.Spec.Template).ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
						TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)},
					}}
				}),
			},
		},
		{
			subject: admissionPolicyBinding(),
			edits: []edit{on("an action that does not go with ours", func(p *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
				p.Spec.ValidationActions[0] = admissionregistrationv1.Warn
			})},
		},
	} {
		t.Run(tc.subject.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, cached(t, readingItsWrites()), tc.subject)
			b.createIsOneRequest()
			for _, add := range tc.additions {
				b.edit(add)
				b.settle()
			}
			for _, change := range tc.edits {
				for _, turn := range []string{" once", " again"} {
					before := b.live()
					b.editAndRest(change)
					res, requests := b.pass()
					b.requireOperation(res, ensure.Updated, ensure.Drifted, change.name+turn)
					b.requireRepair(requests, change.name+turn)
					b.requireSame(before, b.live(), change.name+turn)
					b.requireFiveFreePasses("after a repair")
				}
			}
			b.requireNoUpdateEntry()
		})
	}
}

// editAndRest edits and waits until the built-in controllers have taken notice: what
// they write meanwhile is a conflict for the repair, to be retried soon.
func (b *bench) editAndRest(change edit) {
	b.t.Helper()
	b.edit(change)
	if b.settled != nil {
		b.await("the controllers", func() bool { return b.settled(b.live()) })
	}
	b.awaitCached(b.live())
}

// requireRepair expects the five requests of a repair. The rollout that it begins may
// get in between; then its fourth step, which tidies the managed fields, is done again
// on a fresh read.
func (b *bench) requireRepair(requests []cluster.Request, about ...any) {
	b.t.Helper()
	again := len(requests) - writes(requests)
	require.Equal(b.t, 5, writes(requests)-again, "%v: the server saw %v", about, requests)
	require.LessOrEqual(b.t, again, 2, "%v: the server saw %v", about, requests)
}

// requireNoUpdateEntry: what a repair wrote is owned by our applies alone, or what
// desired drops later would stay.
func (b *bench) requireNoUpdateEntry() {
	b.t.Helper()
	for _, entry := range b.live().GetManagedFields() {
		if entry.Manager == fieldOwner {
			require.Equal(b.t, metav1.ManagedFieldsOperationApply, entry.Operation)
		}
	}
}

// TestSwitch: a change of desired that leaves something in live which the new state
// does not go with.
func TestSwitch(t *testing.T) {
	t.Parallel()
	recreate := then(func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType })
	rolling := then(func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType })
	tcp := then(func(d *appsv1.Deployment) {
		mainOf(&d.Spec.Template).ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
			TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)},
		}}
	})
	onDelete := then(func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType })
	daemonOnDelete := then(func(d *appsv1.DaemonSet) {
		d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	})
	elsewhere := then(func(s *corev1.Service) {
		s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.com"}
	})
	reject := then(func(p *flowcontrolv1.PriorityLevelConfiguration) {
		p.Spec.Limited.LimitResponse = flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}
	})
	byURL := then(func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
		config := &m.Webhooks[0].ClientConfig
		config.Service, config.URL = nil, new("https://webhook.example.com/")
	})
	for _, tc := range []struct {
		name string
		subject
		steps []func(client.Object)
	}{
		{"Deployment to Recreate and back", deployment(), []func(client.Object){recreate, rolling, recreate}},
		{"Deployment to tcpSocket and back", deployment(), []func(client.Object){tcp, func(client.Object) {}, tcp}},
		{"StatefulSet to OnDelete and back", statefulSet(), []func(client.Object){onDelete, func(client.Object) {}, onDelete}},
		{"DaemonSet to OnDelete and back", daemonSet(), []func(client.Object){daemonOnDelete, func(client.Object) {}, daemonOnDelete}},
		{"Service to ExternalName and back", clusterIPService(), []func(client.Object){elsewhere, func(client.Object) {}, elsewhere}},
		{"PriorityLevelConfiguration to Reject and back", priorityLevel(), []func(client.Object){reject, func(client.Object) {}, reject}},
		{"PodDisruptionBudget to maxUnavailable and back", disruptionBudget(), []func(client.Object){
			disruptionBudget().next, func(client.Object) {}, disruptionBudget().next,
		}},
		{"webhook from URL to service and back", mutatingWebhooks(), []func(client.Object){byURL, func(client.Object) {}, byURL}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, cached(t, readingItsWrites()), tc.subject)
			b.createIsOneRequest()
			plain := b.desired
			for _, step := range tc.steps {
				b.desired = func() client.Object {
					obj := plain()
					step(obj)
					return obj
				}
				res, requests := b.pass()
				b.requireOperation(res, ensure.Updated, ensure.DesiredChanged)
				if writes(requests) != 1 {
					b.requireRepair(requests)
				}
				b.requireFiveFreePasses("after a switch")
			}
			b.requireNoUpdateEntry()
		})
	}
}

// TestImmutable: what no update can change is an error that tells where, and leaves
// the object as it was.
func TestImmutable(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		subject
		change func(client.Object)
		paths  []string
	}{
		{deployment(), then(func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchLabels["tier"] = "web"
			d.Spec.Template.Labels["tier"] = "web"
		}), []string{"spec.selector.matchLabels[tier]", "spec.template.metadata.labels[tier]"}},
		{statefulSet(), then(func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "other" }), []string{"spec.serviceName"}},
		{job(), then(func(j *batchv1.Job) { mainOf(&j.Spec.Template).Image = "other" }), []string{"spec.template.spec.containers[name=main].image"}},
		{roleBinding(), then(func(r *rbacv1.RoleBinding) { r.RoleRef.Name = "edit" }), []string{"roleRef.name"}},
	} {
		t.Run(tc.subject.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, plain(t), tc.subject)
			b.createIsOneRequest()
			before := b.live()
			desired := b.desired()
			tc.change(desired)
			_, err := ensure.Object(b.ctx, b.ensurer, desired, ensure.ControlledBy(b.owner))
			require.ErrorIs(t, err, ensure.ErrImmutable)
			var e *ensure.Error
			require.ErrorAs(t, err, &e)
			require.Subset(t, e.Paths, tc.paths)
			b.requireSame(before, b.live())
		})
	}
}

// TestInvalidUpdate: what the server would not create either is invalid, not immutable.
func TestInvalidUpdate(t *testing.T) {
	t.Parallel()
	b := newBench(t, plain(t), deployment())
	b.createIsOneRequest()
	desired := b.desired()
	then(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(-1)) })(desired)
	_, err := ensure.Object(b.ctx, b.ensurer, desired, ensure.ControlledBy(b.owner))
	require.ErrorIs(t, err, ensure.ErrInvalid)
	require.ErrorContains(t, err, "spec.replicas")
}
