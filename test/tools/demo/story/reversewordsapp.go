package story

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
)

// The first ReverseWordsApp of the operator's samples, and its children.
const (
	wordsSample     = "examples/reversewordsapp/config/samples/apps_v1alpha1_reversewordsapp.yaml"
	words           = "example-reversewordsapp"
	wordsDeployment = "dp-" + words
	wordsService    = "service-" + words
)

// reverseWordsApp is the story of a reported status and of an orderly deletion.
type reverseWordsApp struct{ *story }

// ReverseWordsApp tells how an object reports its state, and in which order its children are
// deleted.
func ReverseWordsApp(ctx context.Context, env Env) (Summary, error) {
	s := reverseWordsApp{&story{Env: env, mainObject: mainObject{
		kind: "ReverseWordsApp", name: words, work: "children", makes: "object", deployment: wordsDeployment,
		blank:      func() client.Object { return &v1alpha1.ReverseWordsApp{} },
		conditions: func(obj client.Object) []metav1.Condition { return obj.(*v1alpha1.ReverseWordsApp).Status.Conditions },
	}}}
	watched := []client.ObjectList{
		&v1alpha1.ReverseWordsAppList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.PodList{},
	}
	return s.tell(ctx, watched, s.created, s.scaled,
		s.onOwn("a version that cannot be pulled. "+simulated, s.spoiled),
		s.onOwn("a version that can be pulled again. "+simulated, s.repaired),
		s.reconcileUnchanged, s.deleted)
}

func (s reverseWordsApp) created(ctx context.Context) error {
	s.title("A ReverseWordsApp is created.")
	began := s.now(ctx)
	if err := s.run(ctx, "apply", "-f", wordsSample); err != nil {
		return err
	}
	err := s.expect(ctx, "a Deployment and a Service", func(context.Context) (string, bool) {
		missing := missing([]int{
			find(began.seen(), wordsDeployment, added[*appsv1.Deployment]),
			find(began.seen(), wordsService, added[*corev1.Service]),
		}, "Deployment", "Service")
		return "no " + missing, missing == ""
	})
	if err != nil {
		return err
	}
	return s.tellTurn(ctx, began, 1)
}

func (s reverseWordsApp) scaled(ctx context.Context) error {
	s.title("It gets a second pod.")
	began := s.now(ctx)
	if err := s.change(ctx, `{"spec":{"replicas":2}}`); err != nil {
		return err
	}
	return s.tellTurn(ctx, began, 2)
}

func (s reverseWordsApp) spoiled(ctx context.Context) error {
	s.title("It gets a version that cannot be pulled. The pods that serve stay.")
	began := s.now(ctx)
	if err := s.change(ctx, `{"spec":{"appVersion":"missing"}}`); err != nil {
		return err
	}
	err := s.expect(ctx, "Ready to be False for ImagePullBackOff", func(context.Context) (string, bool) {
		turns := s.turns(began.seen(), v1alpha1.ReadyCondition)
		return strings.Join(turns, ", then "), slices.Contains(turns, "False ImagePullBackOff")
	})
	if err != nil {
		return err
	}
	s.fact("Ready", s.turnsOf(began.seen(), v1alpha1.ReadyCondition))
	return s.tellPods(ctx, 3)
}

func (s reverseWordsApp) repaired(ctx context.Context) error {
	s.title("It gets one that can.")
	began := s.now(ctx)
	if err := s.change(ctx, `{"spec":{"appVersion":"latest"}}`); err != nil {
		return err
	}
	return s.tellTurn(ctx, began, 2)
}

func (s reverseWordsApp) deleted(ctx context.Context) error {
	s.title("It is deleted. Its finalizer keeps it until its pods are gone, and their Deployment and the Service.")
	began := s.now(ctx)
	if err := s.run(ctx, "delete", "reversewordsapp", words, "--wait=false"); err != nil {
		return err
	}
	var pages []loggedEvent
	var ends []int
	err := s.expect(ctx, "the ReverseWordsApp to be gone, its pods and its children", func(context.Context) (string, bool) {
		pages = began.seen()
		ends = []int{
			find(pages, words, gone[*v1alpha1.ReverseWordsApp]), find(pages, wordsDeployment, gone[*appsv1.Deployment]),
			find(pages, wordsService, gone[*corev1.Service]), last(pages, gone[*corev1.Pod]),
		}
		missing := missing(ends, "end of the ReverseWordsApp", "end of the Deployment", "end of the Service", "end of a pod")
		return fmt.Sprintf("%s; no %s", s.turnsOf(pages, v1alpha1.ReadyCondition), missing), missing == ""
	})
	if err != nil {
		return err
	}
	if err := s.tellOrder(pages, pages[ends[0]], pages[ends[1]], pages[ends[2]], pages[ends[3]]); err != nil {
		return err
	}
	return s.tellRequests(ctx, began)
}

// tellOrder reports the order of all deletions, which is the order of the resourceVersions: each
// kind has a separate watch, and a watch may be late.
func (s reverseWordsApp) tellOrder(pages []loggedEvent, app, deployment, service, pod loggedEvent) error {
	if !isBefore(pod, deployment) || !isBefore(deployment, app) || !isBefore(service, app) {
		return fmt.Errorf("expected the last pod to go before the Deployment, and the ReverseWordsApp after that and the Service; "+
			"seen: resourceVersions %s, %s, %s, %s", pod.object.GetResourceVersion(), deployment.object.GetResourceVersion(),
			app.object.GetResourceVersion(), service.object.GetResourceVersion())
	}
	s.fact("Ready", s.turnsOf(pages, v1alpha1.ReadyCondition))
	s.fact("seen", fmt.Sprintf("the last pod gone, the Deployment %s later, the ReverseWordsApp %s after that",
		took(pod, deployment), took(deployment, app)))
	return nil
}

func (s reverseWordsApp) change(ctx context.Context, patch string) error {
	return s.run(ctx, "patch", "reversewordsapp", words, "--type=merge", "--patch", patch)
}

// tellTurn reports how Ready became False and then True by itself, and names the pods.
func (s reverseWordsApp) tellTurn(ctx context.Context, began checkpoint, pods int) error {
	if err := s.tellRest(ctx, began); err != nil || s.Own == nil {
		return err
	}
	err := s.expect(ctx, "Ready to become True after it was False", func(context.Context) (string, bool) {
		turns := s.turns(began.seen(), v1alpha1.ReadyCondition)
		return strings.Join(turns, ", then "), len(turns) > 1 && turns[len(turns)-1] == "True Available"
	})
	if err != nil {
		return err
	}
	s.fact("Ready", s.turnsOf(began.seen(), v1alpha1.ReadyCondition))
	return s.tellPods(ctx, pods)
}

// tellPods compares appPods with the pods that there are.
func (s reverseWordsApp) tellPods(ctx context.Context, number int) error {
	var names []string
	err := s.expect(ctx, fmt.Sprintf("%d pods, and appPods to name them", number), func(ctx context.Context) (string, bool) {
		var app v1alpha1.ReverseWordsApp
		var pods corev1.PodList
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: words}, &app); err != nil {
			return err.Error(), false
		}
		if err := s.client.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{"app": words}); err != nil {
			return err.Error(), false
		}
		names = nil
		for i := range pods.Items {
			names = append(names, pods.Items[i].Name)
		}
		slices.Sort(names)
		return fmt.Sprintf("%v of %v", app.Status.AppPods, names), len(names) == number && slices.Equal(names, app.Status.AppPods)
	})
	if err != nil {
		return err
	}
	s.fact("appPods", strings.Join(names, ", "))
	return nil
}
