package trial

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// A webhook is asked about each write of an operator to a child or to the finalizers of an owner, during a whole run.
type webhook struct {
	mode atomic.Int32
	stop func() error

	mutex      sync.Mutex
	interludes map[owners.Ref]func()
}

// The modes of a webhook, all for children only.
const (
	accepting int32 = iota
	mutating
	refusing
	slow
)

// slowAnswer is how long a slow webhook takes.
const slowAnswer = 1500 * time.Millisecond

func (w *webhook) faults() []choice {
	during := func(mode int32) func(context.Context, *environment, lasting) error {
		return func(_ context.Context, _ *environment, last lasting) error {
			w.mode.Store(mode)
			defer w.mode.Store(accepting)
			return last()
		}
	}
	return []choice{
		{"webhook mutates", 3 * time.Second, 8 * time.Second, during(mutating)},
		{"webhook refuses", time.Second, 5 * time.Second, during(refusing)},
		{"webhook is slow", 2 * time.Second, 5 * time.Second, during(slow)},
	}
}

// childKinds are the kinds of children that the webhook is asked about.
var childKinds = []string{"Service", "Secret", "Deployment", "StatefulSet", "Ingress", "ReverseWordsApp"}

// startWebhook has the API server ask about the children of all kinds, and about owners that have a finalizer.
func (e *environment) startWebhook(ctx context.Context) (err error) {
	kinds := sets.New(childKinds...)
	for _, kind := range owners.All() {
		if kind.Finalizer != "" {
			kinds.Insert(kind.Name())
		}
	}
	var rules []admissionregistrationv1.RuleWithOperations
	for _, kind := range sets.List(kinds) {
		rules = append(rules, admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{owners.Kinds[kind].Group}, APIVersions: []string{"*"}, Resources: []string{owners.Resource(kind)},
			},
		})
	}
	e.webhook.stop, err = e.cluster.MutatingWebhook(ctx, "chaos", rules, admission.HandlerFunc(e.webhook.answer))
	return err
}

// duringWrite has interlude run once: while an operator's next write to the object waits for the answer. cancel reports
// whether it came before that.
func (w *webhook) duringWrite(to owners.Ref, interlude func()) (cancel func() bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.interludes == nil {
		w.interludes = map[owners.Ref]func(){}
	}
	w.interludes[to] = interlude
	return func() bool { return w.takeInterlude(to) != nil }
}

func (w *webhook) takeInterlude(of owners.Ref) func() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	interlude := w.interludes[of]
	delete(w.interludes, of)
	return interlude
}

func (w *webhook) answer(ctx context.Context, request admission.Request) admission.Response {
	if !strings.HasPrefix(request.UserInfo.Username, "system:serviceaccount:") {
		return admission.Allowed("")
	}
	if request.Operation == admissionv1.Update && !ptr.Deref(request.DryRun, false) {
		about := owners.Ref{Kind: request.Kind.Kind, Namespace: request.Namespace, Name: request.Name}
		if interlude := w.takeInterlude(about); interlude != nil {
			interlude()
		}
	}
	if !slices.Contains(childKinds, request.Kind.Kind) {
		return admission.Allowed("")
	}
	switch w.mode.Load() {
	case mutating:
		return mutated(request)
	case refusing:
		return admission.Denied("the webhook of the chaos refuses it")
	case slow:
		_ = pass(ctx, slowAnswer) // or until the API server does not wait any longer
	}
	return admission.Allowed("")
}

// mutated adds an annotation and, to a pod template, a container.
func mutated(request admission.Request) admission.Response {
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(request.Object.Raw, &obj.Object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["example.org/injected"] = "yes"
	obj.SetAnnotations(annotations)
	containers, found, err := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if found && !hasContainer(containers, "injected") {
		containers = append(containers, map[string]any{"name": "injected", "image": "example.org/injected:1"})
		if err := unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	text, err := obj.MarshalJSON()
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, text)
}

func hasContainer(containers []any, name string) bool {
	for _, item := range containers {
		if container, ok := item.(map[string]any); ok && container["name"] == name {
			return true
		}
	}
	return false
}
