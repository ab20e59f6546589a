package story

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wordsv1alpha1 "github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	sitev1 "github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/status"
)

// The Site of the operator's sample and its children, which have the same name, and the children of its
// ReverseWordsApp.
const (
	siteSample     = "examples/site/config/samples/web_v1_site.yaml"
	siteName       = "site-sample"
	siteDeployment = "dp-" + siteName
	siteService    = "service-" + siteName
)

// site is the story of a chain of two operators.
type site struct{ *story }

// Site tells how two operators share work: a child of the main object is the custom resource of the
// operator of ReverseWordsApps, which must run, too.
func Site(ctx context.Context, env Env) (Summary, error) {
	s := site{&story{Env: env, mainObject: mainObject{
		kind: "Site", name: siteName, work: "children", makes: "object", deployment: siteDeployment,
		blank:      func() client.Object { return &sitev1.Site{} },
		conditions: func(obj client.Object) []metav1.Condition { return obj.(*sitev1.Site).Status.Conditions },
	}}}
	watched := []client.ObjectList{
		&sitev1.SiteList{}, &corev1.ConfigMapList{}, &wordsv1alpha1.ReverseWordsAppList{}, &networkingv1.IngressList{},
		&appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.PodList{},
	}
	return s.tell(ctx, watched, s.created, s.scaled, s.edited,
		s.onOwn("a version that cannot be pulled. "+simulated, s.spoiled),
		s.onOwn("a version that can be pulled again. "+simulated, s.repaired),
		s.reconcileUnchanged, s.madePlain)
}

func (s site) created(ctx context.Context) error {
	s.title("A Site is created. Its child, a ReverseWordsApp, has children of another operator.")
	began := s.now(ctx)
	if err := s.run(ctx, "apply", "-f", siteSample); err != nil {
		return err
	}
	var first, last loggedEvent
	err := s.expect(ctx, "a ReverseWordsApp, an Ingress, a Deployment and a Service", func(context.Context) (string, bool) {
		pages := began.seen()
		found := []int{
			find(pages, siteName, added[*sitev1.Site]),
			find(pages, siteName, added[*wordsv1alpha1.ReverseWordsApp]),
			find(pages, siteName, added[*networkingv1.Ingress]),
			find(pages, siteDeployment, added[*appsv1.Deployment]),
			find(pages, siteService, added[*corev1.Service]),
		}
		if missing := missing(found, "Site", "ReverseWordsApp", "Ingress", "Deployment", "Service"); missing != "" {
			return "no " + missing, false
		}
		first, last = pages[found[0]], pages[slices.Max(found[1:])]
		return "", true
	})
	if err != nil {
		return err
	}
	s.fact("seen", fmt.Sprintf("the children, and the ReverseWordsApp's, %s after it", took(first, last)))
	return s.tellRest(ctx, began)
}

func (s site) scaled(ctx context.Context) error {
	s.title("Somebody scales the ReverseWordsApp's Deployment. That is for the other operator to change back.")
	began := s.now(ctx)
	if err := s.run(ctx, "scale", "deployment", siteDeployment, "--replicas=7"); err != nil {
		return err
	}
	lasted, err := undone(ctx, s.story, began, siteDeployment, "7 replicas to be 2 again", "7 replicas", replicas(7))
	if err != nil {
		return err
	}
	s.fact("seen", fmt.Sprintf("7 replicas for %s, then 2 again", lasted))
	if s.Own != nil {
		if _, err := s.becomes(ctx, status.TypeReady, metav1.ConditionTrue, "Ready"); err != nil {
			return err
		}
	}
	if written := began.written(); len(written) > 0 {
		return fmt.Errorf("expected no write of a child; seen: %v", written)
	}
	s.fact("operator", "no write of a child")
	return nil
}

func (s site) edited(ctx context.Context) error {
	s.title("Somebody edits the ReverseWordsApp: its replicas, which the Site specifies, and its serviceType, which it does not.")
	began := s.now(ctx)
	err := s.run(ctx, "patch", "reversewordsapp", siteName, "--type=merge", "--patch", `{"spec":{"replicas":5,"serviceType":"NodePort"}}`)
	if err != nil {
		return err
	}
	lasted, err := undone(ctx, s.story, began, siteName, "5 replicas to be 2 again", "5 replicas",
		func(app *wordsv1alpha1.ReverseWordsApp) bool { return app.Spec.Replicas == 5 })
	if err != nil {
		return err
	}
	s.fact("seen", fmt.Sprintf("5 replicas for %s, then 2 again", lasted))
	app := &wordsv1alpha1.ReverseWordsApp{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: siteName}, app); err != nil {
		return err
	}
	if app.Spec.ServiceType != corev1.ServiceTypeNodePort {
		return fmt.Errorf("expected the serviceType NodePort; seen: %s", app.Spec.ServiceType)
	}
	s.fact("seen", "the serviceType NodePort, still there")
	return s.tellRest(ctx, began)
}

func (s site) spoiled(ctx context.Context) error {
	s.title("It gets a version that cannot be pulled. What is wrong with the pod travels up.")
	if err := s.change(ctx, `{"spec":{"appVersion":"missing"}}`); err != nil {
		return err
	}
	ready, err := s.becomes(ctx, status.TypeReady, metav1.ConditionFalse, "ImagePullBackOff")
	if err != nil {
		return err
	}
	s.fact("Ready", "False, "+ready.Message)
	return nil
}

func (s site) repaired(ctx context.Context) error {
	s.title("It gets one that can.")
	began := s.now(ctx)
	if err := s.change(ctx, `{"spec":{"appVersion":"latest"}}`); err != nil {
		return err
	}
	return s.tellRest(ctx, began)
}

func (s site) madePlain(ctx context.Context) error {
	s.title("It becomes plain. The Ingress goes, and the ReverseWordsApp, whose finalizer waits for the pods. The page stays.")
	began := s.now(ctx)
	if err := s.change(ctx, `{"spec":{"plain":true}}`); err != nil {
		return err
	}
	var app, ingress, pod loggedEvent
	err := s.expect(ctx, "the end of the ReverseWordsApp, the Ingress and the pods", func(context.Context) (string, bool) {
		pages := began.seen()
		ends := []int{
			find(pages, siteName, gone[*wordsv1alpha1.ReverseWordsApp]), find(pages, siteName, gone[*networkingv1.Ingress]),
			last(pages, gone[*corev1.Pod]),
		}
		if missing := missing(ends, "end of the ReverseWordsApp", "end of the Ingress", "end of a pod"); missing != "" {
			return "no " + missing, false
		}
		app, ingress, pod = pages[ends[0]], pages[ends[1]], pages[ends[2]]
		return "", true
	})
	if err != nil {
		return err
	}
	if !isBefore(ingress, app) || !isBefore(pod, app) {
		return fmt.Errorf("expected the ReverseWordsApp to go last; seen: resourceVersions %s, %s, %s",
			ingress.object.GetResourceVersion(), pod.object.GetResourceVersion(), app.object.GetResourceVersion())
	}
	if _, err := s.becomes(ctx, status.TypeReady, metav1.ConditionTrue, "Plain"); err != nil {
		return err
	}
	page := &corev1.ConfigMap{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: siteName}, page); err != nil {
		return err
	}
	s.fact("Ready", s.turnsOf(began.seen(), status.TypeReady))
	s.fact("seen", fmt.Sprintf("the last pod gone, the ReverseWordsApp %s later", took(pod, app)))
	return s.tellRequests(ctx, began)
}

func (s site) change(ctx context.Context, patch string) error {
	return s.run(ctx, "patch", "site", siteName, "--type=merge", "--patch", patch)
}
