package controller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	webv1 "example.com/website/api/v1"
	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

func TestWebsiteConverges(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, webv1.AddToScheme(scheme))
	owner := &webv1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"},
		Spec:       webv1.WebsiteSpec{Image: "nginx:1.29", Replicas: new(int32(2))},
	}
	c := ensuretest.NewClient(scheme, owner) // behaves like an API server, and counts requests
	r := reconcile.AsReconciler(c, &WebsiteReconciler{
		Client: c, Scheme: scheme, ensure: ensure.New(c, c.APIReader(), websiteFieldOwner),
	})
	pass := func(ctx context.Context) error {
		_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(owner)})
		return err
	}

	require.Len(t, ensuretest.Converge(t, c, pass), 2) // the children and the status; until a pass writes nothing
	require.Empty(t, ensuretest.Converge(t, c, pass))  // from then on, no request at all

	deployment := &appsv1.Deployment{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(owner), deployment))
	deployment.Spec.Replicas = new(int32(7)) // an edit by hand
	require.NoError(t, c.Update(t.Context(), deployment))

	requests := ensuretest.Converge(t, c, pass)
	require.Len(t, requests, 1)
	require.Equal(t, "apply Deployment default/sample: spec.replicas 7 -> 2", requests[0].String())
}
