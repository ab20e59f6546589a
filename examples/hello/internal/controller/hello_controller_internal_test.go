package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/hello/api/v1"
)

// TestHelloOf maps the greeting of a Hello back to that Hello. Only the name of a Hello may contain dots.
func TestHelloOf(t *testing.T) {
	for _, name := range []string{"world", "small.world"} {
		hello := &v1.Hello{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		requests := helloOf(t.Context(), greetingFor(hello))
		require.Len(t, requests, 1)
		require.Equal(t, client.ObjectKeyFromObject(hello), requests[0].NamespacedName)
	}
}
