package reversewordsapp_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/longform"
)

// TestRefusedPods has pods refused by a quota and by pod security, and pods without a node. The condition
// says why before and after the deadline of the rollout, and an event reports each new message.
func TestRefusedPods(t *testing.T) {
	d := newTemplateDir(t)
	const nowhere = `{{if eq (index .Labels "zone") "nowhere"}}nodeSelector: {zone: nowhere}{{end}}`
	d.Override(t, "deployment.yaml", "      containers:\n", "      "+nowhere+"\n      containers:\n")
	process := startWith(t, installed(t), "--templates", d.Path)
	type refusal struct {
		fixture

		refuse       func(t *testing.T, namespace string)
		reason, says string
		late         string // what the message says after the deadline, besides
	}
	const late = "the rollout does not end within its deadline"
	refusals := []refusal{
		{refuse: func(t *testing.T, namespace string) { t.Helper(); tests.RefusePods(t, namespace) }, reason: "FailedCreate", says: "exceeded quota: none", late: late},
		{refuse: tests.EnforceRestricted, reason: "FailedCreate", says: `violates PodSecurity "restricted:latest"`, late: late},
		{refuse: func(*testing.T, string) {}, reason: "Unschedulable", says: "nodes are available"},
	}
	for i := range refusals {
		f := &refusals[i]
		f.fixture = newEmptyFixture(t, process)
		f.refuse(t, f.namespace)
		f.create(t, func(app *v1alpha1.ReverseWordsApp) {
			app.Labels = map[string]string{"zone": map[string]string{"Unschedulable": "nowhere"}[f.reason]}
		})
		message := f.waitForReason(t, f.reason).Message
		require.Contains(t, message, f.says)
		require.NotContains(t, message, "deadline")
		f.waitForWarnings(t, f.reason)
	}

	d.Override(t, "deployment.yaml", "      containers:\n", "      "+nowhere+"\n      containers:\n",
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

// TestRestricted uses the templates for namespaces that enforce the pod security standard restricted.
// TestRefusedPods shows that such a namespace refuses the default pods.
func TestRestricted(t *testing.T) {
	longform.Only(t)
	o := installed(t)
	f := newEmptyFixture(t, startWith(t, o, "--templates", filepath.Join(o.Dir, "config", "templates", "restricted")))
	tests.EnforceRestricted(t, f.namespace)
	f.create(t)
	f.settle(t)
	require.Len(t, f.podNames(t), 2)
	require.Empty(t, f.warned(t))
}
