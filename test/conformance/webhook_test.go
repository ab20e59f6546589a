package conformance_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
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

const (
	mirror    = "mirror.example.com/"
	rewritten = "conformance.trueup-go.github.io/rewritten"
)

// rewrite is what many clusters' webhooks do to workloads: images come from a
// mirror, a toleration and a sidecar are added. The one of this test is rude, too: it
// has its own idea of an annotation, and takes the digest off.
func rewrite(template *corev1.PodTemplateSpec) {
	for i := range template.Spec.Containers {
		image := &template.Spec.Containers[i].Image
		if !strings.HasPrefix(*image, mirror) {
			*image = mirror + *image
		}
	}
	if len(template.Spec.Tolerations) == 0 {
		template.Spec.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
	}
	for _, c := range template.Spec.Containers {
		if c.Name == "injected" {
			return
		}
	}
	template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: "injected", Image: mirror + "proxy:1"})
}

// serveRewrites has a webhook rewrite the workloads of this test, told by a label.
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
		if obj.GetLabels()[rewritten] == "" {
			return admission.Allowed("")
		}
		rewrite(podTemplateOf(obj))
		obj.SetAnnotations(with(with(obj.GetAnnotations(), ours, "rewritten"), digestAnnotation, ""))
		after, err := json.Marshal(obj)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		return admission.PatchResponseFromRaw(req.Object.Raw, after)
	})
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"apps", "batch"}, APIVersions: []string{"v1"},
			Resources: []string{"deployments", "statefulsets", "jobs"},
		},
	}}
	stop, err := shared.MutatingWebhook(t.Context(), "rewrite", rules, handler)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
}

// labelled is s with the label that has its workload rewritten.
func labelled(s subject) subject {
	desired := s.desired
	s.desired = func() client.Object {
		obj := desired()
		obj.SetLabels(with(obj.GetLabels(), rewritten, "yes"))
		return obj
	}
	return s
}

// TestWebhook: what a webhook makes of desired causes no second write, and after a
// restart one request that writes nothing.
func TestWebhook(t *testing.T) {
	t.Parallel()
	serveRewrites(t)
	for _, s := range []subject{deployment(), statefulSet(), job()} {
		t.Run(s.name, func(t *testing.T) {
			b := newBench(t, cached(t, readingItsWrites()), labelled(s))
			b.createIsOneRequest()
			template := podTemplateOf(b.live())
			require.Equal(t, mirror+"example.com/app:1", template.Spec.Containers[0].Image)
			require.Len(t, template.Spec.Containers, 3)

			b.restart()
			res, requests := b.pass()
			b.requireOperation(res, ensure.Unchanged, "")
			b.requireAtMostOne(requests)
			b.requireFiveFreePasses("after a restart")

			before := b.live()
			b.edit(commonEdits[0])
			res, requests = b.pass()
			b.requireOperation(res, ensure.Updated, ensure.Drifted)
			b.requireWrites(requests, 1)
			b.requireSame(before, b.live())
			b.requireFiveFreePasses("after an edit")
		})
	}
}
