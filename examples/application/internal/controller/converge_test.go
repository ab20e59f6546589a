package controller_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/internal/controller"
	"github.com/trueup-go/trueup/examples/application/templates"
	"github.com/trueup-go/trueup/examples/internal/operatortest"
)

func TestConverges(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	app := &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "greeter"},
		Spec:       v1alpha1.ApplicationSpec{Version: "1.0.0", Image: "greeter:1", AmountPods: new(int32(2))},
	}
	c := ensuretest.NewClient(scheme, app)
	r, err := controller.New(operatortest.Manager(c), manifest.NewFolder("", templates.Files, scheme), nil)
	require.NoError(t, err)
	pass := operatortest.Pass(c, r, app)

	// Three children and a status.
	require.Len(t, ensuretest.Converge(t, c, pass), 4)
	require.Empty(t, ensuretest.Converge(t, c, pass))

	deployment := &appsv1.Deployment{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "greeter-deployment-microservice"}, deployment))
	deployment.Spec.Replicas = new(int32(7))
	require.NoError(t, c.Update(t.Context(), deployment))

	requests := ensuretest.Converge(t, c, pass)
	require.Len(t, requests, 1)
	require.Equal(t, "apply Deployment default/greeter-deployment-microservice: spec.replicas 7 -> 2", requests[0].String())
	require.Empty(t, ensuretest.Converge(t, c, pass))
}
