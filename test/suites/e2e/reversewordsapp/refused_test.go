package reversewordsapp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
)

// TestRefusedPods has pods refused by a quota and by pod security, and pods without a node. The condition
// says why before and after the deadline of the rollout, and an event reports each new message.
func TestRefusedPods(t *testing.T) {
	d := newTemplateDir(t)
	const zones = `{{with index .Labels "zone"}}{{if eq . "host"}}hostNetwork: true{{else}}nodeSelector: {zone: nowhere}{{end}}{{end}}`
	d.Override(t, "deployment.yaml", "      containers:\n", "      "+zones+"\n      containers:\n")
	process := startWith(t, installed(t), "--templates", d.Path)
	type refusal struct {
		fixture

		refuse       func(t *testing.T, namespace string)
		zone         string
		reason, says string
		late         string // what the message says after the deadline, besides
	}
	const late = "the rollout does not end within its deadline"
	refusals := []refusal{
		{refuse: func(t *testing.T, namespace string) { t.Helper(); tests.RefusePods(t, namespace) }, reason: "FailedCreate", says: "exceeded quota: none", late: late},
		{refuse: tests.EnforceRestricted, zone: "host", reason: "FailedCreate", says: `violates PodSecurity "restricted:latest"`, late: late},
		{refuse: func(*testing.T, string) {}, zone: "nowhere", reason: "Unschedulable", says: "nodes are available"},
	}
	for i := range refusals {
		f := &refusals[i]
		f.fixture = newEmptyFixture(t, process)
		f.refuse(t, f.namespace)
		f.create(t, func(app *v1alpha1.ReverseWordsApp) { app.Labels = map[string]string{"zone": f.zone} })
		message := f.waitForReason(t, f.reason).Message
		require.Contains(t, message, f.says)
		require.NotContains(t, message, "deadline")
		f.waitForWarnings(t, f.reason)
	}

	d.Override(t, "deployment.yaml", "      containers:\n", "      "+zones+"\n      containers:\n",
		"  replicas: {{.Replicas}}\n", "  replicas: {{.Replicas}}\n  progressDeadlineSeconds: 1\n")
	for _, f := range refusals {
		eventually(t, func(context.Context) error {
			for _, c := range f.deployment(t).Status.Conditions {
				if c.Reason == "ProgressDeadlineExceeded" {
					return nil
				}
			}
			return expect(false, "the deadline is not exceeded yet")
		})
		eventually(t, func(context.Context) error {
			message := f.waitForReason(t, f.reason).Message
			return expect(strings.Contains(message, f.says) && strings.Contains(message, f.late), "%s", message)
		})
		f.reconcile(t)
		if f.late != "" { // the scheduler may write another message at any time
			f.waitForWarnings(t, f.reason, f.reason)
		}
	}
}

// TestRefusedDeployment has a quota refuse the Deployment itself. Only ensure records an event about that.
func TestRefusedDeployment(t *testing.T) {
	f := newEmptyFixture(t, start(t))
	labels := map[string]string{"app": "probe"}
	tests.RefuseByQuota(t, "count/deployments.apps", &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "probe"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.org/web:1"}}},
			},
		},
	})
	f.create(t)
	require.Contains(t, f.waitForReason(t, "Forbidden").Message, "exceeded quota: none")
	f.reconcile(t)
	f.waitForWarnings(t, "Forbidden")
}

// TestRestricted has a namespace enforce the pod security standard restricted.
func TestRestricted(t *testing.T) {
	f := newEmptyFixture(t, start(t))
	tests.EnforceRestricted(t, f.namespace)
	f.create(t)
	f.settle(t)
	require.Len(t, f.podNames(t), 2)
	require.Empty(t, f.warned(t))
}
