package controller //nolint:testpackage // tests unexported functions

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/internal/operatortest"
	"github.com/trueup-go/trueup/status/readiness"
)

// TestReport writes the conditions in their order.
func TestReport(t *testing.T) {
	ready := readiness.Readiness{State: readiness.Ready, Message: "yes"}
	for _, test := range []struct {
		name    string
		volumes readiness.Readiness
		want    []string
	}{
		{
			"done",
			readiness.Readiness{State: readiness.Ready, Reason: v1alpha1.ReasonDone, Message: "yes"},
			[]string{"DatabaseReady False Waiting no", "AppReady True Ready yes", "Ready False Waiting", "MongoDBServiceReady False Foreign no", "VolumeResized True Done yes"},
		},
		{
			"resizing", failed(refuse(v1alpha1.ReasonResizing, "grows")),
			[]string{"DatabaseReady False Waiting no", "AppReady True Ready yes", "Ready False Waiting", "MongoDBServiceReady False Foreign no", "VolumeResized False Resizing grows"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := shop()
			c, r := reconcilerWith(t, defaultNames, store)
			require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(store), store))
			db := &database{volumes: []volume{sized("2Gi", "2Gi")}}
			seen := states{database: notReady("Waiting", "no"), app: ready, mongoDBService: notReady("Foreign", "no"), volumes: test.volumes}
			require.NoError(t, r.report(t.Context(), store, db, ensure.Results{}, seen, nil))
			var got []string
			for _, condition := range store.Status.Conditions {
				text := condition.Type + " " + string(condition.Status) + " " + condition.Reason
				if condition.Type != v1alpha1.ReadyCondition {
					text += " " + condition.Message
				}
				got = append(got, text)
			}
			require.Empty(t, cmp.Diff(test.want, got))
			require.Len(t, store.Status.Volumes, 1)
			require.Equal(t, &shopDatabase, store.Status.Database)
		})
	}
}

// TestReportReplicas counts the ready pods of the app without surplus ones, and keeps the last number and the
// children if the Deployment is unknown.
func TestReportReplicas(t *testing.T) {
	store, ready := shop(), readiness.Readiness{State: readiness.Ready, Message: "yes"}
	c, r := reconcilerWith(t, defaultNames, store)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(store), store))
	report := func(live client.Object) {
		results := ensure.Results{Children: []ensure.Result[client.Object]{{Live: live}}}
		require.NoError(t, r.report(t.Context(), store, &database{}, results, states{ready, ready, ready, ready}, nil))
		require.Equal(t, []v1alpha1.Child{{Kind: "Deployment", Name: "shop-app"}}, store.Status.Children)
		require.EqualValues(t, 2, *store.Status.Replicas)
		require.Equal(t, "app.kubernetes.io/component=app", store.Status.Selector)
	}
	report(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-app"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/component": "app"}},
		},
		Status: appsv1.DeploymentStatus{ReadyReplicas: 3},
	})
	summary := meta.FindStatusCondition(store.Status.Conditions, v1alpha1.ReadyCondition)
	require.NotNil(t, summary)
	require.Equal(t, "DatabaseReady is True: yes; AppReady is True: yes", summary.Message)
	report(nil)
}

// TestReconcile reports which children are not ready, and that a foreign claim limits the database.
func TestReconcile(t *testing.T) {
	store, foreign := storeCalled("shop"), shopClaim(firstClaim)
	foreign.Labels = nil
	c, r := reconcilerWith(t, defaultNames, store, foreign)
	pass := operatortest.Pass(c, r, store)
	condition := func(conditionType string) metav1.Condition {
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(store), store))
		found := meta.FindStatusCondition(store.Status.Conditions, conditionType)
		require.NotNil(t, found)
		return *found
	}
	ensuretest.Converge(t, c, pass)
	require.Contains(t, condition(v1alpha1.DatabaseReadyCondition).Message, `StatefulSet "shop-mongodb": `)
	require.Contains(t, condition(v1alpha1.AppReadyCondition).Message, `Deployment "shop-app": `)
	require.Equal(t, v1alpha1.ReasonForeignClaim, condition(v1alpha1.VolumeResizedCondition).Reason)

	set := &appsv1.StatefulSet{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "mall", Name: "shop-mongodb"}, set))
	require.Zero(t, *set.Spec.Replicas)
	set.Status.ObservedGeneration = set.Generation
	require.NoError(t, c.Status().Update(t.Context(), set))
	ensuretest.Converge(t, c, pass)
	require.Equal(t, v1alpha1.ReasonForeignClaim, condition(v1alpha1.DatabaseReadyCondition).Reason)

	require.NoError(t, c.Delete(t.Context(), foreign))
	ensuretest.Converge(t, c, pass)
	require.Equal(t, "2 of 2 claims do not exist yet", condition(v1alpha1.VolumeResizedCondition).Message)
}

// TestReject refuses a size that no volume can have, and tries again after minutes.
func TestReject(t *testing.T) {
	store := shop()
	store.Spec.BookDB.DBSize = resource.MustParse("0")
	c, r := reconcilerWith(t, defaultNames, store)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(store), store))
	result, err := r.Reconcile(t.Context(), store)
	require.NoError(t, err)
	require.Equal(t, 5*time.Minute, result.RequeueAfter)
	ready := meta.FindStatusCondition(store.Status.Conditions, v1alpha1.ReadyCondition)
	require.NotNil(t, ready)
	require.Equal(t, "InvalidSize", ready.Reason)
	require.Equal(t, "spec.bookDB.dbSize is 0: it must be greater than zero", ready.Message)
	writes := writesOf(c)
	require.Len(t, writes, 1)
	require.Contains(t, writes[0], "patch status of BookStore mall/shop")
}

func TestRetry(t *testing.T) {
	for _, test := range []struct {
		name       string
		wait, want time.Duration
		err        error
	}{
		{name: "nothing to retry"},
		{name: "a wait", wait: time.Minute, want: time.Minute},
		{name: "a refusal", err: refuse("No", "no"), want: 5 * time.Minute},
		{name: "a refusal and a shorter wait", err: refuse("No", "no"), wait: time.Minute, want: time.Minute},
		{name: "a refusal and a longer wait", err: refuse("No", "no"), wait: time.Hour, want: 5 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, err := retry(t.Context(), test.wait, ensure.Results{}, nil, test.err)
			require.NoError(t, err)
			require.Equal(t, test.want, result.RequeueAfter)
		})
	}
	_, err := retry(t.Context(), time.Minute, ensure.Results{}, errors.New("down"))
	require.EqualError(t, err, "down")
}

func TestIsProblem(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	for _, test := range []struct {
		name, reason, message string
		err                   error
		want                  bool
	}{
		{name: "an image", reason: "ImagePullBackOff", want: true},
		{name: "an image, and another child that is forbidden", reason: "ImagePullBackOff", err: forbidden, want: true},
		{name: "recorded by ensure", reason: "Forbidden", err: forbidden},
		{name: "no node", reason: "Unschedulable", message: "0/1 nodes are available", want: true},
		{name: "no volume yet", reason: "Unschedulable", message: "pod has unbound immediate PersistentVolumeClaims"},
		{name: "volumes grow", reason: v1alpha1.ReasonResizing},
		{name: "the API server does not answer", reason: "Unavailable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, isProblem(notReady(test.reason, test.message), test.err))
		})
	}
}
