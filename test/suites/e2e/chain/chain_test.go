package chain_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/test/harness/longform"
)

// TestChain runs both operators.
func TestChain(t *testing.T) {
	siteOperator, appOperator := start(t, sites), start(t, apps)
	for name, test := range map[string]func(*testing.T, fixture){
		"readiness travels up":                testReadiness,
		"each puts back what is its own":      testDrift,
		"what others write stays":             testShared,
		"nothing is sent while all is well":   testSteadyState,
		"what is dropped goes, and its parts": testPruning,
		"all goes with the Site":              testRemoval,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newFixture(t, siteOperator, appOperator))
		})
	}
}

// testReadiness has the pods keep the Site from being ready: on their way, then for want of
// an image.
func testReadiness(t *testing.T, f fixture) {
	f.create(t, v1.SiteSpec{AppVersion: "pending"})
	f.waitFor(t, "Progressing", "its condition Ready is False: Progressing")
	f.change(t, `{"appVersion":"latest"}`)
	f.settle(t)

	f.change(t, `{"appVersion":"missing"}`)
	ready := f.waitFor(t, "ImagePullBackOff", `its condition Ready is False: ImagePullBackOff: Deployment "dp-shop": pod "dp-shop-`)
	require.Equal(t, metav1.ConditionFalse, ready.Status)
	f.change(t, `{"appVersion":"latest"}`)
	f.settle(t)
}

// testDrift changes the app and the app's children. Each operator repairs its own children.
func testDrift(t *testing.T, f fixture) {
	f.create(t, v1.SiteSpec{AppVersion: "latest"})
	f.settle(t)

	mark := shared.Mark()
	merge(t, f.named(), `{"spec":{"replicas":5,"appVersion":"other"}}`)
	eventually(t, func(context.Context) error {
		spec := f.app(t).Spec
		return expect(spec.Replicas == 2 && spec.AppVersion == "latest", "%+v", spec)
	})
	f.settle(t)
	require.Equal(t, map[string]int{"patch reversewordsapps": 1}, exceptStatus(f.siteRequests(t, mark)))

	mark = shared.Mark()
	deployment := &appsv1.Deployment{ObjectMeta: f.meta("dp-shop")}
	merge(t, deployment, `{"spec":{"replicas":5}}`)
	eventually(t, func(context.Context) error {
		replicas := *get(t, deployment).Spec.Replicas
		return expect(replicas == 2, "%d replicas", replicas)
	})
	f.settle(t)
	require.Empty(t, exceptStatus(f.siteRequests(t, mark)))
	require.Equal(t, map[string]int{"patch deployments": 1}, exceptStatus(f.appRequests(t, mark)))
}

// testShared has the app's definition, its operator and a user write to the app. Fields that the
// site operator does not specify keep their owners.
func testShared(t *testing.T, f fixture) {
	f.create(t, v1.SiteSpec{AppVersion: "latest"})
	f.settle(t)
	want := f.app(t)
	require.Equal(t, corev1.ServiceTypeLoadBalancer, want.Spec.ServiceType)
	require.Equal(t, []string{v1alpha1.Finalizer}, want.Finalizers)

	mark := shared.Mark()
	merge(t, f.named(), `{"spec":{"serviceType":"NodePort"},"metadata":{"labels":{"team":"blue"}}}`)
	f.settle(t)
	require.Equal(t, map[string]int{"patch reversewordsapps": 1}, exceptStatus(f.siteRequests(t, mark)), "the server is asked once")

	f.change(t, `{"appVersion":"v2"}`)
	f.settle(t)
	want.Spec = v1alpha1.ReverseWordsAppSpec{Replicas: 2, AppVersion: "v2", ServiceType: corev1.ServiceTypeNodePort}
	got := f.app(t)
	require.Equal(t, want.Spec, got.Spec)
	require.Equal(t, want.Finalizers, got.Finalizers)
	require.Equal(t, "blue", got.Labels["team"])
}

func testSteadyState(t *testing.T, f fixture) {
	f.create(t, v1.SiteSpec{AppVersion: "latest"})
	f.settle(t)
	mark, site, app := shared.Mark(), f.site(t), f.app(t)
	for range 10 {
		f.reconcile(t)
	}
	require.Empty(t, f.siteRequests(t, mark))
	require.Empty(t, f.appRequests(t, mark))
	require.Equal(t, site.Status, f.site(t).Status)
	require.Equal(t, app.Status, f.app(t).Status)
}

// testPruning makes a Site plain while the app of another owner exists beside its own. A user
// delays the deletion.
func testPruning(t *testing.T, f fixture) {
	theirs := &v1alpha1.ReverseWordsApp{ObjectMeta: f.meta("theirs")}
	require.NoError(t, admin(t).Create(t.Context(), theirs))
	f.create(t, v1.SiteSpec{AppVersion: "latest"})
	f.settle(t)
	merge(t, f.named(), `{"metadata":{"finalizers":["`+v1alpha1.Finalizer+`","example.org/hold"]}}`)
	f.settle(t)

	mark := shared.Mark()
	f.change(t, `{"plain":true}`)
	waitUntilGone(t, &networkingv1.Ingress{ObjectMeta: f.meta("shop")}, &appsv1.Deployment{ObjectMeta: f.meta("dp-shop")})
	eventually(t, func(context.Context) error {
		left := f.app(t).Finalizers
		return expect(slices.Equal(left, []string{"example.org/hold"}), "%v", left)
	})
	f.reconcileSite(t)
	f.waitFor(t, "Pruning", `still there: ReverseWordsApp "shop"`)
	merge(t, f.named(), `{"metadata":{"finalizers":null}}`)
	f.waitFor(t, "Plain", "")
	waitUntilGone(t, f.named())
	require.Equal(t, map[string]int{"get sites": 1, "delete ingresses": 1, "delete reversewordsapps": 1},
		exceptStatus(f.siteRequests(t, mark)), "it reads the Site before it deletes")
	require.Nil(t, get(t, theirs).DeletionTimestamp)
	get(t, &corev1.ConfigMap{ObjectMeta: f.meta("shop")})

	f.change(t, `{"plain":false}`)
	f.settle(t)
}

// testRemoval: the garbage collector deletes the app, and the app's finalizer deletes the app's
// children.
func testRemoval(t *testing.T, f fixture) {
	f.create(t, v1.SiteSpec{AppVersion: "latest"})
	f.settle(t)

	// The operator sees the deletion of the Site before the deletion of its children;
	// otherwise the order of the events is undefined.
	mark := shared.Mark()
	merge(t, f.site(t), `{"metadata":{"finalizers":["example.org/hold"]}}`)
	require.NoError(t, admin(t).Delete(t.Context(), f.site(t)))
	f.reconcileSite(t)
	merge(t, f.site(t), `{"metadata":{"finalizers":null}}`)
	waitUntilGone(t, f.named())
	require.NoError(t, areGone(t, &appsv1.Deployment{ObjectMeta: f.meta("dp-shop")}, &corev1.Service{ObjectMeta: f.meta("service-shop")}))
	require.Empty(t, f.pods(t), "the app waited for them")
	waitUntilGone(t, &corev1.ConfigMap{ObjectMeta: f.meta("shop")}, &networkingv1.Ingress{ObjectMeta: f.meta("shop")})

	require.Empty(t, f.siteRequests(t, mark), "nothing is made again")
	writes := f.appRequests(t, mark)
	require.Zero(t, writes["patch deployments"]+writes["patch services"], "%v", writes)
}

// TestValidation creates Sites with valid and invalid names and versions. A name or a version that the app
// cannot have is refused for the Site, too.
func TestValidation(t *testing.T) {
	namespace := shared.Namespace(t)
	start(t, sites) // installs the kind
	longest := strings.Repeat("a", 55)
	for _, test := range []struct {
		name, version, says string
	}{
		{name: "shop"},
		{name: "1st", version: "v1.0-rc_1"},
		{name: longest, version: strings.Repeat("a", 128)},
		{name: longest + "a", says: "the name must have at most 55 characters and no dot"},
		{name: "with.dots", says: "the name must have at most 55 characters and no dot"},
		{name: "shop", version: "-a", says: "spec.appVersion"},
		{name: "shop", version: "a:b", says: "spec.appVersion"},
		{name: "shop", version: strings.Repeat("a", 129), says: "spec.appVersion"},
	} {
		site := &v1.Site{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: test.name}, Spec: v1.SiteSpec{AppVersion: test.version}}
		err := admin(t).Create(t.Context(), site, client.DryRunAll)
		if test.says == "" {
			require.NoError(t, err)
			continue
		}
		require.True(t, apierrors.IsInvalid(err), "%s %s: %v", test.name, test.version, err)
		require.ErrorContains(t, err, test.says)
	}
}

// TestRestarts stops one operator after the other. A stopped operator does not act on changes.
func TestRestarts(t *testing.T) {
	f := newFixture(t, start(t, sites), start(t, apps))
	f.create(t, v1.SiteSpec{AppVersion: "latest"})
	f.settle(t)

	mark, site, app, pods := shared.Mark(), f.site(t), f.app(t), f.pods(t)
	require.NoError(t, f.appOperator.Kill())
	orphan := newFixture(t, f.siteOperator, nil)
	orphan.create(t, v1.SiteSpec{AppVersion: "latest"})
	orphan.waitFor(t, "InProgress", "has not reported yet")

	began := time.Now()
	f.appOperator = start(t, apps)
	orphan.appOperator = f.appOperator
	eventually(t, func(context.Context) error {
		return expect(f.appOperator.HasReconciled("ReverseWordsApp", f.namespace, "shop", began), "no reconcile")
	})
	orphan.settle(t)
	require.Empty(t, f.siteRequests(t, mark))
	require.Empty(t, f.appRequests(t, mark))
	require.Equal(t, site, f.site(t))

	mark, began = shared.Mark(), time.Now()
	require.NoError(t, f.siteOperator.Stop())
	f.siteOperator = start(t, sites)
	eventually(t, func(context.Context) error {
		return expect(f.siteOperator.HasReconciled("Site", f.namespace, "shop", began), "no reconcile")
	})
	require.Empty(t, f.siteRequests(t, mark))
	require.Empty(t, f.appRequests(t, mark))
	require.Equal(t, site, f.site(t))
	require.Equal(t, app.ResourceVersion, f.app(t).ResourceVersion)
	require.Equal(t, pods, f.pods(t))
}

// TestStatusOfOthers: a second instance of the Site's operator, without leader election, may write a status
// last and end.
func TestStatusOfOthers(t *testing.T) {
	longform.Only(t)
	require.NoError(t, define())
	f := newFixture(t, sites.StartWith(t, sites.Installed(t), "--sync-period=2s"), start(t, apps))
	f.create(t, v1.SiteSpec{AppVersion: "latest"})
	f.settle(t)
	sites.CheckStatus(t, f.site(t), f.isAtRest)
}
