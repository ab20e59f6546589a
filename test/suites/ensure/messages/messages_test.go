package messages_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// sentence is the message that an administrator wants people to read.
const sentence = "every ConfigMap needs a label team, ask platform@example.com"

func (f *fixture) deployment(replicas int32, selector map[string]string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: f.objectMeta("web")}
	d.Spec.Replicas, d.Spec.Selector = &replicas, &metav1.LabelSelector{MatchLabels: selector}
	d.Spec.Template = pods(selector, "web:1")
	return d
}

func pods(labels map[string]string, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

func (f *fixture) job(image string) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: f.objectMeta("job")}
	job.Spec.Template = pods(nil, image)
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return job
}

func (f *fixture) claim(class string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: f.objectMeta("claim")}
	claim.Spec.StorageClassName = &class
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return claim
}

// misfit returns an object with a field that its kind does not have, and a value of the wrong type.
func (f *fixture) misfit() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "nonsuch": "x", "data": map[string]any{"color": int64(1)},
	}}
	obj.SetNamespace(f.namespace)
	obj.SetName("misfit")
	return obj
}

// A refusal is an object that the API server refuses, and the message that people read.
type refusal struct {
	prepare func(f *fixture) (done func()) // or nil
	desired func(f *fixture) client.Object
	text    string // NS is the namespace
}

func ofConfig(f *fixture) client.Object { return f.config("settings") }

var refusals = map[string]refusal{
	"a policy": {
		func(f *fixture) func() { return f.policy(sentence, metav1.StatusReasonInvalid) }, ofConfig,
		`cannot create ConfigMap "NS/settings": Invalid: ValidatingAdmissionPolicy 'NS' with binding 'NS' denied request: ` + sentence,
	},
	"a policy that forbids": {
		func(f *fixture) func() { return f.policy(sentence, metav1.StatusReasonForbidden) }, ofConfig,
		`cannot create ConfigMap "NS/settings": Forbidden: ValidatingAdmissionPolicy 'NS' with binding 'NS' denied request: ` + sentence,
	},
	"a webhook": {
		func(f *fixture) func() { return f.webhook(403, metav1.StatusReasonForbidden) }, ofConfig,
		`cannot create ConfigMap "NS/settings": Forbidden: admission webhook "handler.trueup-go.github.io" denied the request: ` +
			`the platform says no, in request …`,
	},
	"a webhook's conflict": {
		func(f *fixture) func() { return f.webhook(409, metav1.StatusReasonConflict) }, ofConfig,
		`cannot create ConfigMap "NS/settings": Conflict: admission webhook "handler.trueup-go.github.io" denied the request: ` +
			`the platform says no, in request …`,
	},
	"a quota": {
		func(f *fixture) func() {
			return f.quota(corev1.ResourceList{"count/configmaps": resource.MustParse("0")})
		}, ofConfig,
		`cannot create ConfigMap "NS/settings": Forbidden: exceeded quota: few, requested: count/configmaps=1, limited: count/configmaps=0`,
	},
	"a value": {
		nil, func(f *fixture) client.Object { return f.deployment(-1, map[string]string{"app": "web"}) },
		`cannot create Deployment "NS/web": Invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`,
	},
	"fields that do not fit": {
		nil, func(f *fixture) client.Object { return f.misfit() },
		`cannot create ConfigMap "NS/misfit": Invalid: .nonsuch: field not declared in schema`,
	},
	"no namespace": {
		nil, func(*fixture) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "nowhere", Name: "settings"}}
		},
		`cannot create ConfigMap "nowhere/settings": NotFound: its namespace does not exist`,
	},
	"a selector": {
		func(f *fixture) func() { f.make(f.deployment(0, map[string]string{"app": "web"})); return nil },
		func(f *fixture) client.Object { return f.deployment(0, map[string]string{"app": "other"}) },
		`cannot apply Deployment "NS/web": Immutable: an existing object cannot be changed like this: ` +
			`spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable; ` +
			`desired differs in spec.selector.matchLabels[app]; delete the object so that it is created again`,
	},
	"a template, which is quoted": {
		func(f *fixture) func() { f.make(f.job("web:1")); return nil }, func(f *fixture) client.Object { return f.job("web:2") },
		`cannot apply Job "NS/job": Immutable: an existing object cannot be changed like this: spec.template: Invalid value: `,
	},
	"a claim": {
		func(f *fixture) func() { f.make(f.claim("slow")); return nil }, func(f *fixture) client.Object { return f.claim("fast") },
		`cannot apply PersistentVolumeClaim "NS/claim": Immutable: an existing object cannot be changed like this: ` +
			`spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims; ` +
			`desired differs in spec.storageClassName; undo the change, or delete the object so that it is created again, which loses its data`,
	},
}

// TestTheServersMessageIsInTheError: the message is meant for people, and the same each time
// because it goes into conditions.
func TestTheServersMessageIsInTheError(t *testing.T) {
	t.Parallel()
	for name, r := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if r.prepare != nil {
				if done := r.prepare(f); done != nil {
					defer done()
				}
			}
			texts := map[string]bool{}
			for range 3 {
				_, err := ensure.Object(f.ctx, f.ensurer(), r.desired(f))
				require.Error(t, err)
				texts[err.Error()] = true
				require.True(t, strings.HasPrefix(err.Error(), strings.ReplaceAll(r.text, "NS", f.namespace)), "%v", err)
				require.Less(t, len(err.Error()), 1500)
			}
			require.Len(t, texts, 1, "a condition would be written again")
		})
	}
}

// TestTheMessageAboutASensitiveKindIsNotShown: neither about a Secret, nor about a kind that is
// named.
func TestTheMessageAboutASensitiveKindIsNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	done := f.quota(corev1.ResourceList{"count/configmaps": resource.MustParse("0"), "count/secrets": resource.MustParse("0")})
	defer done()
	for _, desired := range []client.Object{&corev1.Secret{ObjectMeta: f.objectMeta("password")}, f.config("settings")} {
		_, err := ensure.Object(f.ctx, f.ensurer(ensure.WithSensitive(schema.GroupKind{Kind: "ConfigMap"})), desired)
		require.ErrorContains(t, err, ": Forbidden: a permission is missing")
		require.ErrorContains(t, err, "; the API server's message is not shown, as it can quote the object")
		require.NotContains(t, err.Error(), "exceeded")
	}
}
