package chain_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/status"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// fixture is a namespace with a Site called shop, and both operators.
type fixture struct {
	siteOperator, appOperator *operator.Process
	namespace                 string
}

func newFixture(t *testing.T, siteOperator, appOperator *operator.Process) fixture {
	t.Helper()
	return fixture{siteOperator, appOperator, shared.Namespace(t)}
}

func (f fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.namespace, Name: name}
}

func (f fixture) create(t *testing.T, spec v1.SiteSpec) {
	t.Helper()
	require.NoError(t, admin(t).Create(t.Context(), &v1.Site{ObjectMeta: f.meta("shop"), Spec: spec}))
}

// change patches the Site's spec.
func (f fixture) change(t *testing.T, spec string) {
	t.Helper()
	merge(t, &v1.Site{ObjectMeta: f.meta("shop")}, `{"spec":`+spec+`}`)
}

func (f fixture) site(t *testing.T) *v1.Site {
	t.Helper()
	return get(t, &v1.Site{ObjectMeta: f.meta("shop")})
}

// named is the Site's app by name and nothing else.
func (f fixture) named() *v1alpha1.ReverseWordsApp {
	return &v1alpha1.ReverseWordsApp{ObjectMeta: f.meta("shop")}
}

func (f fixture) app(t *testing.T) *v1alpha1.ReverseWordsApp {
	t.Helper()
	return get(t, f.named())
}

// pods are the UIDs of the app's, by name.
func (f fixture) pods(t *testing.T) map[string]types.UID {
	t.Helper()
	var list corev1.PodList
	require.NoError(t, admin(t).List(t.Context(), &list, client.InNamespace(f.namespace), client.MatchingLabels{"app": "shop"}))
	uids := map[string]types.UID{}
	for _, pod := range list.Items {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// waitFor waits until the Site's condition Ready has this reason and a message that contains says.
func (f fixture) waitFor(t *testing.T, reason, says string) metav1.Condition {
	t.Helper()
	var ready metav1.Condition
	eventually(t, func(context.Context) error {
		site := f.site(t)
		ready = readyOf(site)
		return expect(ready.Reason == reason && strings.Contains(ready.Message, says) && ready.ObservedGeneration == site.Generation,
			"expected %s (%s), seen %+v", reason, says, ready)
	})
	return ready
}

func readyOf(site *v1.Site) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(site.Status.Conditions, status.TypeReady), metav1.Condition{})
}

// reconcile makes both operators reconcile, and returns when they have.
func (f fixture) reconcile(t *testing.T) {
	t.Helper()
	apps.Reconcile(t, f.appOperator, f.named())
	f.reconcileSite(t)
}

func (f fixture) reconcileSite(t *testing.T) {
	t.Helper()
	sites.Reconcile(t, f.siteOperator, &v1.Site{ObjectMeta: f.meta("shop")})
}

// settle waits until all pods run, the Site is ready, and both operators have nothing left to do.
// As Kubernetes' controllers may still be at work, settle tries more than once.
func (f fixture) settle(t *testing.T) {
	t.Helper()
	var requests map[string]int
	for range 10 {
		eventually(t, f.isAtRest)
		mark := shared.Mark()
		f.reconcile(t)
		requests = f.siteRequests(t, mark)
		maps.Copy(requests, f.appRequests(t, mark))
		if len(requests) == 0 && f.isAtRest(t.Context()) == nil {
			return
		}
	}
	require.Fail(t, "they do not come to rest", "in their last reconciles they made the requests %v", requests)
}

// isAtRest reads the Site before the objects that the Site depends on, so that it notices a Site
// that is ready too early.
func (f fixture) isAtRest(ctx context.Context) error {
	c, err := sites.Client()
	if err != nil {
		return err
	}
	site, app := &v1.Site{ObjectMeta: f.meta("shop")}, f.named()
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
	return operator.RolledOut(ctx, c, client.ObjectKey{Namespace: f.namespace, Name: "dp-shop"})
}

// siteRequests counts the requests of the operator of Sites about this namespace since the mark.
func (f fixture) siteRequests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	return sites.Requests(t, since, f.namespace)
}

// appRequests counts those of the operator of ReverseWordsApps.
func (f fixture) appRequests(t *testing.T, since cluster.Mark) map[string]int {
	t.Helper()
	return apps.Requests(t, since, f.namespace)
}

// exceptStatus leaves out an operator's status writes.
func exceptStatus(requests map[string]int) map[string]int {
	maps.DeleteFunc(requests, func(request string, _ int) bool { return strings.HasSuffix(request, "/status") })
	return requests
}

// get reads obj anew.
func get[T client.Object](t *testing.T, obj T) T {
	t.Helper()
	require.NoError(t, admin(t).Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
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
		if err := admin(t).Get(t.Context(), client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
			return expect(false, "%T is not gone: %v", obj, err)
		}
	}
	return nil
}
