package chain_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
)

// TestChain has both operators look after Sites.
func TestChain(t *testing.T) {
	apps, sites := startApps(t), startSites(t)
	for name, test := range map[string]func(*testing.T, scene){
		"readiness travels up":                testReadiness,
		"each puts back what is its own":      testDrift,
		"what others write stays":             testShared,
		"nothing is sent while all is well":   testSteadyState,
		"what is dropped goes, and its parts": testPruning,
		"all goes with the Site":              testRemoval,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newScene(t, apps, sites))
		})
	}
}

// testReadiness has the pods keep the Site from being ready: on their way, then for want of
// an image.
func testReadiness(t *testing.T, s scene) {
	s.create(t, SiteSpec{AppVersion: "pending"})
	s.waitFor(t, "InProgress", "its condition Ready is False: Progressing")
	s.change(t, `{"appVersion":"latest"}`)
	s.settle(t)

	s.change(t, `{"appVersion":"missing"}`)
	ready := s.waitFor(t, "InProgress", `its condition Ready is False: ImagePullBackOff: pod "dp-shop-`)
	require.Equal(t, metav1.ConditionFalse, ready.Status)
	s.change(t, `{"appVersion":"latest"}`)
	s.settle(t)
}

// testDrift changes the app and the app's children. Each operator repairs its own children.
func testDrift(t *testing.T, s scene) {
	s.create(t, SiteSpec{AppVersion: "latest"})
	s.settle(t)

	mark := shared.Mark()
	tests.Merge(t, s.named(), `{"spec":{"replicas":5,"appVersion":"other"}}`)
	eventually(t, func(context.Context) error {
		spec := s.app(t).Spec
		return expect(spec.Replicas == 2 && spec.AppVersion == "latest", "%+v", spec)
	})
	s.settle(t)
	require.Equal(t, map[string]int{"patch reversewordsapps": 1}, butStatus(s.siteRequests(t, mark)))

	mark = shared.Mark()
	deployment := &appsv1.Deployment{ObjectMeta: s.meta("dp-shop")}
	tests.Merge(t, deployment, `{"spec":{"replicas":5}}`)
	eventually(t, func(context.Context) error {
		replicas := *get(t, deployment).Spec.Replicas
		return expect(replicas == 2, "%d replicas", replicas)
	})
	s.settle(t)
	require.Empty(t, butStatus(s.siteRequests(t, mark)))
	require.Equal(t, map[string]int{"patch deployments": 1}, butStatus(s.appRequests(t, mark)))
}

// testShared has the app's definition, its operator and a person write to the app. Fields that the
// site operator does not specify keep their owners.
func testShared(t *testing.T, s scene) {
	s.create(t, SiteSpec{AppVersion: "latest"})
	s.settle(t)
	want := s.app(t)
	require.Equal(t, corev1.ServiceTypeLoadBalancer, want.Spec.ServiceType)
	require.Equal(t, []string{v1alpha1.Finalizer}, want.Finalizers)

	mark := shared.Mark()
	tests.Merge(t, s.named(), `{"spec":{"serviceType":"NodePort"},"metadata":{"labels":{"team":"blue"}}}`)
	s.settle(t)
	require.Equal(t, map[string]int{"patch reversewordsapps": 1}, butStatus(s.siteRequests(t, mark)), "the server is asked once")

	s.change(t, `{"appVersion":"v2"}`)
	s.settle(t)
	want.Spec = v1alpha1.ReverseWordsAppSpec{Replicas: 2, AppVersion: "v2", ServiceType: corev1.ServiceTypeNodePort}
	got := s.app(t)
	require.Equal(t, want.Spec, got.Spec)
	require.Equal(t, want.Finalizers, got.Finalizers)
	require.Equal(t, "blue", got.Labels["team"])
}

func testSteadyState(t *testing.T, s scene) {
	s.create(t, SiteSpec{AppVersion: "latest"})
	s.settle(t)
	mark, site, app := shared.Mark(), s.site(t), s.app(t)
	for range 10 {
		s.reconcile(t)
	}
	require.Empty(t, s.siteRequests(t, mark))
	require.Empty(t, s.appRequests(t, mark))
	require.Equal(t, site.Status, s.site(t).Status)
	require.Equal(t, app.Status, s.app(t).Status)
}

// testPruning makes a Site plain while the app of another owner exists beside its own. A person
// delays the deletion.
func testPruning(t *testing.T, s scene) {
	theirs := &v1alpha1.ReverseWordsApp{ObjectMeta: s.meta("theirs")}
	require.NoError(t, human(t).Create(t.Context(), theirs))
	s.create(t, SiteSpec{AppVersion: "latest"})
	s.settle(t)
	tests.Merge(t, s.named(), `{"metadata":{"finalizers":["`+v1alpha1.Finalizer+`","example.org/hold"]}}`)
	s.settle(t)

	mark := shared.Mark()
	s.change(t, `{"plain":true}`)
	waitUntilGone(t, &networkingv1.Ingress{ObjectMeta: s.meta("shop")}, &appsv1.Deployment{ObjectMeta: s.meta("dp-shop")})
	eventually(t, func(context.Context) error {
		left := s.app(t).Finalizers
		return expect(slices.Equal(left, []string{"example.org/hold"}), "%v", left)
	})
	s.lookAtSite(t)
	s.waitFor(t, "Pruning", `still there: ReverseWordsApp "shop"`)
	tests.Merge(t, s.named(), `{"metadata":{"finalizers":null}}`)
	s.waitFor(t, "Plain", "")
	waitUntilGone(t, s.named())
	require.Equal(t, map[string]int{"get sites": 1, "delete ingresses": 1, "delete reversewordsapps": 1},
		butStatus(s.siteRequests(t, mark)), "it reads the Site before it deletes")
	require.Nil(t, get(t, theirs).DeletionTimestamp)
	get(t, &corev1.ConfigMap{ObjectMeta: s.meta("shop")})

	s.change(t, `{"plain":false}`)
	s.settle(t)
}

// testRemoval: the garbage collector deletes the app, and the app's finalizer deletes the app's
// children.
func testRemoval(t *testing.T, s scene) {
	s.create(t, SiteSpec{AppVersion: "latest"})
	s.settle(t)
	mark := shared.Mark()
	require.NoError(t, human(t).Delete(t.Context(), s.site(t)))
	waitUntilGone(t, s.named())
	require.NoError(t, areGone(t, &appsv1.Deployment{ObjectMeta: s.meta("dp-shop")}, &corev1.Service{ObjectMeta: s.meta("service-shop")}))
	require.Empty(t, s.pods(t), "the app waited for them")
	waitUntilGone(t, &corev1.ConfigMap{ObjectMeta: s.meta("shop")}, &networkingv1.Ingress{ObjectMeta: s.meta("shop")})

	require.Empty(t, s.siteRequests(t, mark), "nothing is made again")
	writes := s.appRequests(t, mark)
	require.Zero(t, writes["patch deployments"]+writes["patch services"], "%v", writes)
}

// TestRestarts stops one operator after the other. A stopped operator does not act on changes.
func TestRestarts(t *testing.T) {
	apps := startApps(t)
	s := newScene(t, apps, startSites(t))
	s.create(t, SiteSpec{AppVersion: "latest"})
	s.settle(t)

	mark, site, app, pods := shared.Mark(), s.site(t), s.app(t), s.pods(t)
	require.NoError(t, apps.Kill())
	orphan := newScene(t, apps, s.sites)
	orphan.create(t, SiteSpec{AppVersion: "latest"})
	orphan.waitFor(t, "InProgress", "nobody has looked at it yet")

	began := time.Now()
	s.apps = startApps(t)
	orphan.apps = s.apps
	eventually(t, func(context.Context) error {
		return expect(s.apps.HasReconciled("ReverseWordsApp", s.namespace, "shop", began), "no reconcile")
	})
	orphan.settle(t)
	require.Empty(t, s.siteRequests(t, mark))
	require.Empty(t, s.appRequests(t, mark))
	require.Equal(t, site, s.site(t))

	mark = shared.Mark()
	s.sites.stop()
	s.sites = startSites(t)
	eventually(t, func(context.Context) error {
		_, looked := s.sites.looked.Load(site.UID)
		return expect(looked, "no reconcile")
	})
	require.Empty(t, s.siteRequests(t, mark))
	require.Empty(t, s.appRequests(t, mark))
	require.Equal(t, site, s.site(t))
	require.Equal(t, app.ResourceVersion, s.app(t).ResourceVersion)
	require.Equal(t, pods, s.pods(t))
}
