package chain_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// scene is a namespace with a Site called shop, and both operators.
type scene struct {
	apps      *operator.Process
	sites     *siteOperator
	namespace string
}

func newScene(t *testing.T, apps *operator.Process, sites *siteOperator) scene {
	t.Helper()
	return scene{apps: apps, sites: sites, namespace: shared.Namespace(t)}
}

func (s scene) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

func (s scene) create(t *testing.T, spec SiteSpec) {
	t.Helper()
	require.NoError(t, human(t).Create(t.Context(), &Site{ObjectMeta: s.meta("shop"), Spec: spec}))
}

// change patches the Site's spec.
func (s scene) change(t *testing.T, spec string) {
	t.Helper()
	tests.Merge(t, &Site{ObjectMeta: s.meta("shop")}, `{"spec":`+spec+`}`)
}

func (s scene) site(t *testing.T) *Site {
	t.Helper()
	return get(t, &Site{ObjectMeta: s.meta("shop")})
}

// named is the Site's app by name and nothing else.
func (s scene) named() *v1alpha1.ReverseWordsApp {
	return &v1alpha1.ReverseWordsApp{ObjectMeta: s.meta("shop")}
}

func (s scene) app(t *testing.T) *v1alpha1.ReverseWordsApp {
	t.Helper()
	return get(t, s.named())
}

// pods are the UIDs of the app's, by name.
func (s scene) pods(t *testing.T) map[string]types.UID {
	t.Helper()
	var list corev1.PodList
	require.NoError(t, human(t).List(t.Context(), &list, client.InNamespace(s.namespace), client.MatchingLabels{"app": "shop"}))
	uids := map[string]types.UID{}
	for _, pod := range list.Items {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// waitFor waits until the Site's condition Ready has this reason and a message that contains says.
func (s scene) waitFor(t *testing.T, reason, says string) metav1.Condition {
	t.Helper()
	var ready metav1.Condition
	eventually(t, func(context.Context) error {
		site := s.site(t)
		ready = readyOf(site)
		return expect(ready.Reason == reason && strings.Contains(ready.Message, says) && ready.ObservedGeneration == site.Generation,
			"expected %s (%s), seen %+v", reason, says, ready)
	})
	return ready
}

func readyOf(site *Site) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(site.Status.Conditions, status.TypeReady), metav1.Condition{})
}

// reconcile makes both operators look again, and returns when they have.
func (s scene) reconcile(t *testing.T) {
	t.Helper()
	tests.Reconcile(t, s.apps, s.named())
	s.lookAtSite(t)
}

func (s scene) lookAtSite(t *testing.T) {
	t.Helper()
	site, asked := s.site(t), time.Now().Format(time.RFC3339Nano)
	tests.Merge(t, site, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, touched, asked))
	eventually(t, func(context.Context) error {
		seen, _ := s.sites.looked.Load(site.UID)
		return expect(seen == asked, "no reconcile")
	})
}

// settle waits until all pods run, the Site is ready, and both operators have nothing left to do.
// As Kubernetes' controllers may still be at work, settle tries more than once.
func (s scene) settle(t *testing.T) {
	t.Helper()
	var requests map[string]int
	for range 10 {
		eventually(t, s.isAtRest)
		mark := shared.Mark()
		s.reconcile(t)
		requests = s.siteRequests(t, mark)
		maps.Copy(requests, s.appRequests(t, mark))
		if len(requests) == 0 && s.isAtRest(t.Context()) == nil {
			return
		}
	}
	require.Fail(t, "they do not come to rest", "in their last reconciles they made the requests %v", requests)
}

// isAtRest reads the Site before the objects that the Site depends on, so that it notices a Site
// that is ready too early.
func (s scene) isAtRest(ctx context.Context) error {
	c, err := tests.Client()
	if err != nil {
		return err
	}
	site, app := &Site{ObjectMeta: s.meta("shop")}, s.named()
	if err := c.Get(ctx, client.ObjectKeyFromObject(site), site); err != nil {
		return err
	}
	if ready := readyOf(site); ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != site.Generation {
		return expect(false, "generation %d of the Site is not ready: %+v", site.Generation, ready)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ReadyCondition) || app.Status.ObservedGeneration != app.Generation {
		return expect(false, "the app is not ready: %+v", app.Status)
	}
	return operator.RolledOut(ctx, c, client.ObjectKey{Namespace: s.namespace, Name: "dp-shop"})
}

// siteRequests counts the site operator's requests about this namespace since the mark.
func (s scene) siteRequests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	requests, err := shared.Requests(since, cluster.ByUserAgent(name), func(r cluster.Request) bool { return r.Namespace == s.namespace })
	require.NoError(t, err)
	return cluster.Counts(requests)
}

// appRequests are the ReverseWordsApp operator's.
func (s scene) appRequests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	return tests.Requests(t, since, s.namespace)
}

// butStatus leaves out an operator's status writes.
func butStatus(requests map[string]int) map[string]int {
	maps.DeleteFunc(requests, func(request string, _ int) bool { return strings.HasSuffix(request, "/status") })
	return requests
}

// get reads obj anew.
func get[T client.Object](t *testing.T, obj T) T {
	t.Helper()
	require.NoError(t, human(t).Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
	return obj
}

// waitUntilGone waits until there is none of these objects.
func waitUntilGone(t *testing.T, objects ...client.Object) {
	t.Helper()
	eventually(t, func(context.Context) error { return areGone(t, objects...) })
}

// areGone is nil if there is none of these objects.
func areGone(t *testing.T, objects ...client.Object) error {
	t.Helper()
	for _, obj := range objects {
		if err := human(t).Get(t.Context(), client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
			return expect(false, "%T is not gone: %v", obj, err)
		}
	}
	return nil
}
