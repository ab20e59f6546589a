package conformance_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
)

const (
	livesWithWebhook = "a webhook's changes cost no second write"
	livesWithRude    = "a webhook that takes our metadata costs no second write"
	livesWithLate    = "a webhook called on updates only costs no second write"
)

// podTemplateOf returns the pod template of a workload.
func podTemplateOf(obj client.Object) *corev1.PodTemplateSpec {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	case *corev1.ReplicationController:
		return o.Spec.Template
	case *corev1.PodTemplate:
		return &o.Template
	}
	return nil
}

// podSpecOf also returns that of a pod.
func podSpecOf(obj client.Object) *corev1.PodSpec {
	if pod, ok := obj.(*corev1.Pod); ok {
		return &pod.Spec
	}
	return &podTemplateOf(obj).Spec
}

const (
	mirror    = "mirror.example.com/"
	rewriting = "conformance.trueup-go.github.io/rewriting"
)

// The manners of a webhook, which an object requests by its label rewriting.
const (
	polite = "polite" // does what many clusters' webhooks do to pods
	rude   = "rude"   // also has its own idea of our labels and annotations, and takes the digest off
	late   = "late"   // is polite, and called on updates only
)

// rewrite changes workloads as the webhooks of many clusters do: images come from a mirror, and a
// toleration and a sidecar are added.
func rewrite(spec *corev1.PodSpec) {
	for i := range spec.Containers {
		image := &spec.Containers[i].Image
		if !strings.HasPrefix(*image, mirror) {
			*image = mirror + *image
		}
	}
	if !hasToleration(spec, "spot") {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: "spot", Operator: corev1.TolerationOpExists})
	}
	for _, c := range spec.Containers {
		if c.Name == "injected" {
			return
		}
	}
	spec.Containers = append(spec.Containers, corev1.Container{Name: "injected", Image: mirror + "proxy:1"})
}

func hasToleration(spec *corev1.PodSpec, key string) bool {
	for _, toleration := range spec.Tolerations {
		if toleration.Key == key {
			return true
		}
	}
	return false
}

// serveRewrites installs a webhook that rewrites objects on request.
func serveRewrites(t *testing.T) {
	t.Helper()
	require.NoError(t, prepare())
	decoder := admission.NewDecoder(scheme)
	handler := admission.HandlerFunc(func(_ context.Context, req admission.Request) admission.Response {
		raw, err := scheme.New(schema.GroupVersionKind(req.Kind))
		if err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		obj := raw.(client.Object)
		if err := decoder.Decode(req, obj); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		manner := obj.GetLabels()[rewriting]
		if manner == "" || manner == late && req.Operation == admissionv1.Create {
			return admission.Allowed("")
		}
		rewrite(podSpecOf(obj))
		if manner == rude {
			obj.SetLabels(with(obj.GetLabels(), ours, ""))
			obj.SetAnnotations(with(with(obj.GetAnnotations(), ours, "rewritten"), digestAnnotation, ""))
		}
		after, err := json.Marshal(obj)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		return admission.PatchResponseFromRaw(req.Object.Raw, after)
	})
	rule := func(group string, resources ...string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources},
		}
	}
	stop, err := shared.MutatingWebhook(t.Context(), "rewrite", []admissionregistrationv1.RuleWithOperations{
		rule("", "pods", "podtemplates", "replicationcontrollers"),
		rule("apps", "deployments", "statefulsets", "daemonsets", "replicasets"),
		rule("batch", "jobs", "cronjobs"),
	}, handler)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
}

// rewritten returns s with the label that requests the rewriting of its pods.
func rewritten(k kindCase, manner string) kindCase {
	desired := k.desired
	k.desired = func() client.Object {
		obj := desired()
		obj.SetLabels(with(obj.GetLabels(), rewriting, manner))
		return obj
	}
	return k
}

// TestWebhook: the changes of a webhook cause no second write, and after a restart one request that
// writes nothing.
func TestWebhook(t *testing.T) {
	t.Parallel()
	serveRewrites(t)
	for _, tc := range []struct {
		manner string
		kinds  []kindCase
		check  func(*fixture)
	}{
		{polite, append(templated(), job(), pod()), (*fixture).livesWithWebhook},
		{rude, append(templated(), job(), pod()), (*fixture).livesWithRudeWebhook},
		{late, templated(), (*fixture).livesWithLateWebhook}, // a job or a pod could not be updated any more, by nobody
	} {
		t.Run(tc.manner, func(t *testing.T) {
			forEachFixture(t, tc.kinds, everyMode, func(f *fixture) {
				f.kindCase = rewritten(f.kindCase, tc.manner)
				tc.check(f)
			})
		})
	}
}

func (f *fixture) livesWithWebhook() {
	f.t.Helper()
	f.isMadeRewritten()
	before := f.live()
	f.restartWritesNothing()
	f.requireSame(before, f.live(), "after a restart")
	f.editIsPutBack(commonEdits[0])
	if _, fixed := f.desired().(*batchv1.Job); !fixed {
		f.editIsPutBack(edit{"the image", func(obj client.Object) { podSpecOf(obj).Containers[0].Image = "example.com/other:2" }})
		f.takesImage("example.com/app:2")
	}
	f.requireFiveFreePasses("after edits")
	f.droppedIsGone()
	f.noteShown(livesWithWebhook)
}

// isMadeRewritten by one request, and the next pass writes nothing.
func (f *fixture) isMadeRewritten() {
	f.t.Helper()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Created, ensure.Missing)
	f.requireWrites(requests, 1)
	f.requireRewritten()
	f.awaitWritten(res.Live)
	res, requests = f.pass()
	f.requireOperation(res, ensure.Unchanged, "", "right after create")
	f.requireAtMostOne(requests, "right after create")
	f.requireFiveFreePasses("after create")
	f.requireRewritten()
}

func (f *fixture) requireRewritten() {
	f.t.Helper()
	spec := podSpecOf(f.live())
	require.True(f.t, strings.HasPrefix(spec.Containers[0].Image, mirror), spec.Containers[0].Image)
	require.Len(f.t, spec.Containers, 3)
	require.True(f.t, hasToleration(spec, "spot"))
}

// takesImage requires that a change of desired is written and the webhook rewrites the new value.
func (f *fixture) takesImage(image string) {
	f.t.Helper()
	desired := f.desired
	f.desired = func() client.Object {
		obj := desired()
		podSpecOf(obj).Containers[0].Image = image
		return obj
	}
	res, requests := f.pass()
	f.requireOperation(res, ensure.Updated, ensure.DesiredChanged)
	f.requireWrites(requests, 1)
	require.Equal(f.t, mirror+image, podSpecOf(f.live()).Containers[0].Image)
	f.requireFiveFreePasses("after a change of the image")
}

// livesWithRudeWebhook requires that the operator does not fight for fields that the webhook
// removes. Without the digest, every restart costs a request, and nothing is written.
func (f *fixture) livesWithRudeWebhook() {
	f.t.Helper()
	f.isMadeRewritten()
	live := f.live()
	require.NotContains(f.t, live.GetLabels(), ours)
	require.Equal(f.t, "rewritten", live.GetAnnotations()[ours])
	require.NotContains(f.t, live.GetAnnotations(), digestAnnotation)
	for range 2 {
		f.restart()
		res, requests := f.pass()
		f.requireOperation(res, ensure.Unchanged, "")
		f.requireRequests(requests, min(writes(requests), 1), f.asked())
		f.requireFiveFreePasses("after a restart")
		f.requireSame(live, f.live(), "after a restart")
	}
	f.editIsPutBack(edit{"no owner", func(obj client.Object) { obj.SetOwnerReferences(nil) }})
	f.editIsPutBack(edit{"a label of ours that it leaves alone", func(obj client.Object) {
		obj.SetLabels(with(obj.GetLabels(), "app", "edited"))
	}})
	if _, fixed := f.desired().(*batchv1.Job); !fixed {
		f.takesImage("example.com/app:2")
	}
	f.requireFiveFreePasses("after edits")
	f.noteShown(livesWithRude)
}

// livesWithLateWebhook: the first update, anybody's, has the object rewritten.
func (f *fixture) livesWithLateWebhook() {
	f.t.Helper()
	f.createIsOneRequest()
	require.Equal(f.t, "example.com/app:1", podSpecOf(f.live()).Containers[0].Image)
	f.edit(f.drift())
	f.requireRewritten()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Updated, ensure.Drifted)
	f.requireWrites(requests, 1)
	f.requireRewritten()
	require.Equal(f.t, f.desired().GetLabels()[ours], f.live().GetLabels()[ours])
	f.requireFiveFreePasses("after the first update")

	before := f.live()
	f.restartWritesNothing()
	f.requireSame(before, f.live(), "after a restart")
	f.editIsPutBack(f.drift())
	f.takesImage("example.com/app:2")
	f.noteShown(livesWithLate)
}
