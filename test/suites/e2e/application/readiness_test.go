package application_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestReadiness has pods fail in the ways that a cluster knows. Nobody touches the Application meanwhile.
func TestReadiness(t *testing.T) {
	process := start(t)
	for name, test := range map[string]func(*testing.T, *operator.Process){
		"an image that is missing": testMissingImage,
		"a container that crashes": testCrash,
		"a quota":                  testQuota,
		"pod security":             testPodSecurity,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, process)
		})
	}
}

func testMissingImage(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
	f.create(t, withImage("example.org/shop:missing"))
	message := f.waitForReason(t, "ImagePullBackOff").Message
	require.Contains(t, message, `Deployment "shop-deployment-microservice": pod "shop-deployment-microservice-`)
	require.Contains(t, message, "container shop-microservice waits")
	f.requireWarnings(t, "ImagePullBackOff", "container shop-microservice waits")
	f.change(t, `{"image":"example.org/shop:found"}`)
	f.settle(t)
}

func testCrash(t *testing.T, process *operator.Process) {
	f := newFixture(t, process)
	f.change(t, `{"image":"example.org/shop:crashing"}`)
	require.Contains(t, f.waitForReason(t, "CrashLoopBackOff").Message, "container shop-microservice waits")
	f.requireWarnings(t, "CrashLoopBackOff", "container shop-microservice waits")
	f.change(t, `{"image":"example.org/shop:2"}`)
	f.settle(t)

	f.change(t, `{"image":"example.org/other:crashing"}`)
	f.waitForReason(t, "CrashLoopBackOff")
	f.requireWarnings(t, "CrashLoopBackOff", "container shop-microservice waits") // the same within an hour is one event
}

func testQuota(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
	quota := tests.RefusePods(t, f.namespace)
	f.create(t)
	const sentence = "exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0"
	require.Contains(t, f.waitForReason(t, "FailedCreate").Message, sentence)
	f.requireWarnings(t, "FailedCreate", sentence)
	require.Equal(t, new(int32(0)), f.application(t).Status.Replicas)
	require.NoError(t, admin(t).Delete(t.Context(), quota))
	f.settle(t)
}

// testPodSecurity has a namespace enforce the standard restricted, which the built-in templates do not meet.
func testPodSecurity(t *testing.T, process *operator.Process) {
	f := fixture{operator: process, namespace: shared.Namespace(t), name: "shop"}
	tests.EnforceRestricted(t, f.namespace)
	f.create(t)
	const sentence = `violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false`
	require.Contains(t, f.waitForReason(t, "FailedCreate").Message, sentence)
	f.requireWarnings(t, "FailedCreate", sentence)
}

// TestRestricted runs the operator with the documented templates.
func TestRestricted(t *testing.T) {
	o, namespace := installed(t), shared.Namespace(t)
	process := startWith(t, o, "--watch-namespace", namespace, "--templates", filepath.Join(o.Dir, "config", "templates", "restricted"))
	f := fixture{operator: process, namespace: namespace, name: "shop"}
	tests.EnforceRestricted(t, namespace)
	f.create(t)
	f.settle(t)
	require.Len(t, f.pods(t), 2)
}

// TestUnschedulable has pods that fit no node, until the rollout exceeds its deadline.
func TestUnschedulable(t *testing.T) {
	f, folder := newFixtureWithTemplates(t)
	folder.Keep(t)
	folder.Write(t, "deployment.yaml", template(t, "deployment.yaml", "    spec:\n", "    spec:\n      nodeSelector: {example.org/none: here}\n"))
	message := f.waitForReason(t, "Unschedulable").Message
	require.Contains(t, message, "it is not scheduled")
	require.Contains(t, message, "didn't match Pod's node affinity/selector")
	f.requireWarnings(t, "Unschedulable", "it is not scheduled")
	require.Equal(t, new(int32(2)), f.application(t).Status.Replicas, "the old ones serve")
	folder.Remove(t, "deployment.yaml")
	f.settle(t)

	folder.Write(t, "deployment.yaml", template(t, "deployment.yaml", "spec:\n", "spec:\n  progressDeadlineSeconds: 1\n"))
	f.change(t, `{"image":"example.org/shop:pending"}`)
	require.Contains(t, f.waitForReason(t, "ProgressDeadlineExceeded").Message, "the rollout does not end within its deadline")
	f.requireWarnings(t, "ProgressDeadlineExceeded", "does not end within its deadline")
	f.change(t, `{"image":"example.org/shop:2"}`)
	f.settle(t)
}

func withImage(image string) func(*v1alpha1.Application) {
	return func(app *v1alpha1.Application) { app.Spec.Image = image }
}

// requireWarnings requires a Warning event with each of these texts, and no more of the reason, also after
// another pass.
func (f fixture) requireWarnings(t *testing.T, reason string, texts ...string) {
	t.Helper()
	check := func(context.Context) error {
		notes := tests.Warnings(t, f.namespace, f.name, reason)
		for i, text := range texts {
			if i >= len(notes) || !strings.Contains(notes[i], text) {
				return expect(false, "expected %q, seen %q", texts, notes)
			}
		}
		return expect(len(notes) == len(texts), "expected %q, seen %q", texts, notes)
	}
	eventually(t, check)
	f.reconcile(t)
	require.NoError(t, check(t.Context()))
}
