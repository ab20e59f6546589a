package adoption_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ripemd160" //nolint:gosec,staticcheck // some operators store such digests
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecluster "sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/yaml"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const (
	fieldOwner = "adopting-operator"
	other      = "another-operator"
	digest     = "spec-hash.trueup-go.github.io/" + fieldOwner
	revision   = "deployment.kubernetes.io/revision" // the Deployment controller counts
)

var digestLabel = hash.Label("example.com/digest")

// A fixture is a namespace with an operator that adopts objects.
type fixture struct {
	t         *testing.T
	userAgent string
	namespace string
	typed     bool
	client    client.Client
	reader    client.Reader
	admin     client.Client
	settings  []ensure.Setting
	owner     *corev1.ConfigMap
}

// An access is how an operator reaches the API server.
type access func(f *fixture)

func plain(f *fixture) {
	f.client = program.Client(f.t, shared, f.userAgent)
	f.reader = f.client
}

// stripped has a cache without managed fields.
func stripped(f *fixture) {
	scheme, err := program.Scheme()
	require.NoError(f.t, err)
	running := cluster.Cached(f.t, program.Config(shared, f.userAgent), runtimecluster.Options{
		Scheme: scheme,
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true), Unstructured: true}},
		Cache:  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	f.client, f.reader = running.GetClient(), running.GetAPIReader()
}

// labelled has the digest in a label, too.
func labelled(f *fixture) {
	stripped(f)
	f.settings = []ensure.Setting{ensure.WithDigest(hash.Using(ripemd160.New), digestLabel)}
}

func newFixture(t *testing.T, typed bool, open access) *fixture {
	t.Helper()
	f := &fixture{
		t: t, typed: typed, userAgent: "operator of " + t.Name(), namespace: shared.Namespace(t), admin: program.Client(t, shared, "kubectl-edit"),
	}
	open(f)
	f.owner = f.newOwner("owner")
	return f
}

func (f *fixture) newOwner(name string) *corev1.ConfigMap {
	f.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	require.NoError(f.t, f.admin.Create(f.t.Context(), owner))
	return owner
}

// started is an operator that remembers nothing.
func (f *fixture) started() *ensure.Ensurer {
	return ensure.New(f.client, f.reader, fieldOwner, f.settings...)
}

// parse makes an object from YAML, of its Go type in a typed fixture.
func (f *fixture) parse(text string) client.Object {
	f.t.Helper()
	obj := f.parseUntyped(text)
	if !f.typed {
		return obj
	}
	typed, err := f.client.Scheme().New(obj.GroupVersionKind())
	require.NoError(f.t, err)
	require.NoError(f.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed))
	typed.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	out, _ := typed.(client.Object)
	return out
}

func (f *fixture) parseUntyped(text string) *unstructured.Unstructured {
	f.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(f.t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(f.t, obj.UnmarshalJSON(data))
	obj.SetNamespace(f.namespace)
	obj.SetName("web")
	return obj
}

// settled returns the live object named in text, once its controllers are done and the operator
// sees it.
func (f *fixture) settled(text string) *unstructured.Unstructured {
	f.t.Helper()
	live, key := f.parseUntyped(text), client.ObjectKeyFromObject(f.parseUntyped(text))
	require.NoError(f.t, shared.Await(f.t.Context(), limit, f.namespace, func(ctx context.Context) error {
		if err := f.admin.Get(ctx, key, live); err != nil {
			return err
		}
		seen := f.parse(text)
		err := f.client.Get(ctx, key, seen, client.DisableReadYourWritesConsistency)
		if err == nil && (!isSettled(live) || seen.GetResourceVersion() != live.GetResourceVersion()) {
			err = errors.New("it is not settled")
		}
		return err
	}))
	return live
}

// isSettled reports whether the Deployment controller is done with obj.
func isSettled(obj *unstructured.Unstructured) bool {
	deployment := &appsv1.Deployment{}
	data, err := json.Marshal(obj.Object)
	if obj.GetKind() != "Deployment" || err != nil || json.Unmarshal(data, deployment) != nil {
		return err == nil
	}
	replicas := *deployment.Spec.Replicas
	return deployment.Status.ObservedGeneration == deployment.Generation && deployment.Annotations[revision] != "" &&
		deployment.Status.AvailableReplicas == replicas && deployment.Status.UpdatedReplicas == replicas &&
		deployment.Status.Replicas == replicas
}

// specified is all that people and operators write of an object.
func specified(obj *unstructured.Unstructured) map[string]any {
	annotations := obj.GetAnnotations()
	delete(annotations, revision)
	content := runtime.DeepCopyJSON(obj.Object)
	delete(content, "status")
	content["metadata"] = map[string]any{
		"uid": string(obj.GetUID()), "labels": orNone(obj.GetLabels()), "annotations": orNone(annotations),
		"owners": len(obj.GetOwnerReferences()), "finalizers": len(obj.GetFinalizers()),
	}
	return content
}

func orNone(texts map[string]string) map[string]string {
	if texts == nil {
		return map[string]string{}
	}
	return texts
}

// writes counts the requests, except reads, that the operator sent since mark.
func (f *fixture) writes(mark cluster.Mark) int {
	f.t.Helper()
	n := 0
	for _, r := range program.Requests(f.t, shared, mark, f.userAgent) {
		if r.Verb != "get" {
			n++
		}
	}
	return n
}
