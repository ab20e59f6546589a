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
func rewritten(s subject, manner string) subject {
	desired := s.desired
	s.desired = func() client.Object {
		obj := desired()
		obj.SetLabels(with(obj.GetLabels(), rewriting, manner))
		return obj
	}
	return s
}

// TestWebhook: the changes of a webhook cause no second write, and after a restart one request that
// writes nothing.
func TestWebhook(t *testing.T) {
	t.Parallel()
	serveRewrites(t)
	for _, tc := range []struct {
		manner string
		kinds  []subject
		check  func(*bench)
	}{
		{polite, append(templated(), job(), pod()), (*bench).livesWithWebhook},
		{rude, append(templated(), job(), pod()), (*bench).livesWithRudeWebhook},
		{late, templated(), (*bench).livesWithLateWebhook}, // a job or a pod could not be updated any more, by nobody
	} {
		t.Run(tc.manner, func(t *testing.T) {
			benches(t, tc.kinds, everyMode, func(b *bench) {
				b.subject = rewritten(b.subject, tc.manner)
				tc.check(b)
			})
		})
	}
}

func (b *bench) livesWithWebhook() {
	b.t.Helper()
	b.isMadeRewritten()
	before := b.live()
	b.restartWritesNothing()
	b.requireSame(before, b.live(), "after a restart")
	b.editIsPutBack(commonEdits[0])
	if _, fixed := b.desired().(*batchv1.Job); !fixed {
		b.editIsPutBack(edit{"the image", func(obj client.Object) { podSpecOf(obj).Containers[0].Image = "example.com/other:2" }})
		b.takesImage("example.com/app:2")
	}
	b.requireFiveFreePasses("after edits")
	b.droppedIsGone()
	b.shows(livesWithWebhook)
}

// isMadeRewritten by one request, and the next pass writes nothing.
func (b *bench) isMadeRewritten() {
	b.t.Helper()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Created, ensure.Missing)
	b.requireWrites(requests, 1)
	b.requireRewritten()
	b.awaitWritten(res.Live)
	res, requests = b.pass()
	b.requireOperation(res, ensure.Unchanged, "", "right after create")
	b.requireAtMostOne(requests, "right after create")
	b.requireFiveFreePasses("after create")
	b.requireRewritten()
}

func (b *bench) requireRewritten() {
	b.t.Helper()
	spec := podSpecOf(b.live())
	require.True(b.t, strings.HasPrefix(spec.Containers[0].Image, mirror), spec.Containers[0].Image)
	require.Len(b.t, spec.Containers, 3)
	require.True(b.t, hasToleration(spec, "spot"))
}

// takesImage requires that a change of desired is written and the webhook rewrites the new value.
func (b *bench) takesImage(image string) {
	b.t.Helper()
	desired := b.desired
	b.desired = func() client.Object {
		obj := desired()
		podSpecOf(obj).Containers[0].Image = image
		return obj
	}
	res, requests := b.pass()
	b.requireOperation(res, ensure.Updated, ensure.DesiredChanged)
	b.requireWrites(requests, 1)
	require.Equal(b.t, mirror+image, podSpecOf(b.live()).Containers[0].Image)
	b.requireFiveFreePasses("after a change of the image")
}

// livesWithRudeWebhook requires that the operator does not fight for fields that the webhook
// removes. Without the digest, every restart costs a request, and nothing is written.
func (b *bench) livesWithRudeWebhook() {
	b.t.Helper()
	b.isMadeRewritten()
	live := b.live()
	require.NotContains(b.t, live.GetLabels(), ours)
	require.Equal(b.t, "rewritten", live.GetAnnotations()[ours])
	require.NotContains(b.t, live.GetAnnotations(), digestAnnotation)
	for range 2 {
		b.restart()
		res, requests := b.pass()
		b.requireOperation(res, ensure.Unchanged, "")
		b.requireRequests(requests, min(writes(requests), 1), b.asked())
		b.requireFiveFreePasses("after a restart")
		b.requireSame(live, b.live(), "after a restart")
	}
	b.editIsPutBack(edit{"no owner", func(obj client.Object) { obj.SetOwnerReferences(nil) }})
	b.editIsPutBack(edit{"a label of ours that it leaves alone", func(obj client.Object) {
		obj.SetLabels(with(obj.GetLabels(), "app", "edited"))
	}})
	if _, fixed := b.desired().(*batchv1.Job); !fixed {
		b.takesImage("example.com/app:2")
	}
	b.requireFiveFreePasses("after edits")
	b.shows(livesWithRude)
}

// livesWithLateWebhook: the first update, anybody's, has the object rewritten.
func (b *bench) livesWithLateWebhook() {
	b.t.Helper()
	b.createIsOneRequest()
	require.Equal(b.t, "example.com/app:1", podSpecOf(b.live()).Containers[0].Image)
	b.edit(b.drift())
	b.requireRewritten()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Updated, ensure.Drifted)
	b.requireWrites(requests, 1)
	b.requireRewritten()
	require.Equal(b.t, b.desired().GetLabels()[ours], b.live().GetLabels()[ours])
	b.requireFiveFreePasses("after the first update")

	before := b.live()
	b.restartWritesNothing()
	b.requireSame(before, b.live(), "after a restart")
	b.editIsPutBack(b.drift())
	b.takesImage("example.com/app:2")
	b.shows(livesWithLate)
}
