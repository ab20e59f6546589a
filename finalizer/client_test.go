package finalizer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/finalizer"
)

// Who embeds a client in a struct may pass that struct, which is no pointer and so never nil.
func TestTheClientMayBeAStruct(t *testing.T) {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}}
	s := newServer(obj)
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
	result, err := finalizer.Handle(t.Context(), struct{ client.Client }{s}, obj, finalizer.Step{
		Name: row, Cleanup: func(context.Context) error { return nil },
	})
	require.NoError(t, err)
	require.False(t, result.Done)
	require.Equal(t, []string{row}, obj.Finalizers)
	require.Len(t, s.patches, 1)
}
