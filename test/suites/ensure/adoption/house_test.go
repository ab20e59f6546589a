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
	adopter  = "adopting-operator"
	other    = "another-operator"
	digest   = "spec-hash.trueup-go.github.io/" + adopter
	revision = "deployment.kubernetes.io/revision" // the Deployment controller counts
)

var digestLabel = hash.Label("example.com/digest")

// A house is a namespace with an operator that adopts objects.
type house struct {
	t         *testing.T
	agent     string
	namespace string
	typed     bool
	client    client.Client
	reader    client.Reader
	person    client.Client
	settings  []ensure.Setting
	owner     *corev1.ConfigMap
}

// An access is how an operator reaches the API server.
type access func(h *house)

func plain(h *house) {
	h.client = program.Client(h.t, shared, h.agent)
	h.reader = h.client
}

// stripped has a cache without managed fields.
func stripped(h *house) {
	scheme, err := program.Scheme()
	require.NoError(h.t, err)
	running := cluster.Cached(h.t, program.Config(shared, h.agent), runtimecluster.Options{
		Scheme: scheme,
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true), Unstructured: true}},
		Cache:  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	h.client, h.reader = running.GetClient(), running.GetAPIReader()
}

// labelled has the digest in a label, too.
func labelled(h *house) {
	stripped(h)
	h.settings = []ensure.Setting{ensure.WithDigest(hash.Using(ripemd160.New), digestLabel)}
}

func newHouse(t *testing.T, typed bool, open access) *house {
	t.Helper()
	h := &house{
		t: t, typed: typed, agent: "operator of " + t.Name(), namespace: shared.Namespace(t), person: program.Client(t, shared, "person"),
	}
	open(h)
	h.owner = h.newOwner("owner")
	return h
}

func (h *house) newOwner(name string) *corev1.ConfigMap {
	h.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name}}
	require.NoError(h.t, h.person.Create(h.t.Context(), owner))
	return owner
}

// started is an operator that remembers nothing.
func (h *house) started() *ensure.Ensurer {
	return ensure.New(h.client, h.reader, adopter, h.settings...)
}

// parse makes an object from YAML, of its Go type in a typed house.
func (h *house) parse(text string) client.Object {
	h.t.Helper()
	obj := h.parseUntyped(text)
	if !h.typed {
		return obj
	}
	typed, err := h.client.Scheme().New(obj.GroupVersionKind())
	require.NoError(h.t, err)
	require.NoError(h.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed))
	typed.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	out, _ := typed.(client.Object)
	return out
}

func (h *house) parseUntyped(text string) *unstructured.Unstructured {
	h.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(h.t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(h.t, obj.UnmarshalJSON(data))
	obj.SetNamespace(h.namespace)
	obj.SetName("web")
	return obj
}

// settled returns the live object named in text, once its controllers are done and the operator
// sees it.
func (h *house) settled(text string) *unstructured.Unstructured {
	h.t.Helper()
	live, key := h.parseUntyped(text), client.ObjectKeyFromObject(h.parseUntyped(text))
	require.NoError(h.t, shared.Await(h.t.Context(), limit, h.namespace, func(ctx context.Context) error {
		if err := h.person.Get(ctx, key, live); err != nil {
			return err
		}
		seen := h.parse(text)
		err := h.client.Get(ctx, key, seen, client.DisableReadYourWritesConsistency)
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
func (h *house) writes(mark cluster.Mark) int {
	h.t.Helper()
	n := 0
	for _, r := range program.Requests(h.t, shared, mark, h.agent) {
		if r.Verb != "get" {
			n++
		}
	}
	return n
}
