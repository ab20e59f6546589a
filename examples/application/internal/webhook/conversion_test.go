package webhook //nolint:testpackage // tests unexported functions

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/api/v1beta1"
)

// TestRoundTrip converts random Applications to the other version and back. No field is lost.
func TestRoundTrip(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, v1beta1.AddToScheme(scheme))
	converter, err := newConverter(scheme)
	require.NoError(t, err)
	alphaType := metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Application"}
	betaType := metav1.TypeMeta{APIVersion: v1beta1.GroupVersion.String(), Kind: "Application"}

	filler := randfill.NewWithSeed(1).NilChance(0.2).NumElements(1, 3)
	for range 200 {
		alpha, beta := &v1alpha1.Application{}, &v1beta1.Application{}
		filler.Fill(alpha)
		alpha.TypeMeta, beta.TypeMeta = alphaType, betaType
		require.NoError(t, converter.ConvertObject(t.Context(), alpha, beta))
		back := &v1alpha1.Application{TypeMeta: alphaType}
		require.NoError(t, converter.ConvertObject(t.Context(), beta, back))
		require.Equal(t, alpha, back)
	}
	for range 200 {
		beta, alpha := &v1beta1.Application{}, &v1alpha1.Application{}
		filler.Fill(beta)
		alpha.TypeMeta, beta.TypeMeta = alphaType, betaType
		require.NoError(t, converter.ConvertObject(t.Context(), beta, alpha))
		back := &v1beta1.Application{TypeMeta: betaType}
		require.NoError(t, converter.ConvertObject(t.Context(), alpha, back))
		require.Equal(t, beta, back)
	}
}
