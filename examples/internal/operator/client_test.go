package operator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/examples/internal/operator"
)

// TestBoundedClient: the cache never shows a write. The caller may have less time than a read waits.
func TestBoundedClient(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "database"}}
	waits := fake.NewClientBuilder().WithObjects(pod).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(
			ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
		) error {
			if !(&client.GetOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
				<-ctx.Done()
				return ctx.Err()
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if !(&client.ListOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
				<-ctx.Done()
				return apierrors.NewTimeoutError("the informer has not synced", 0) // as for the first read of a kind
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()

	for name, read := range map[string]func(ctx context.Context, c client.Client) error{
		"get": func(ctx context.Context, c client.Client) error {
			return c.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
		},
		"list": func(ctx context.Context, c client.Client) error {
			return c.List(ctx, &corev1.PodList{}, client.InNamespace("shop"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				require.NoError(t, read(t.Context(), operator.Bounded(waits)))
				require.Equal(t, operator.ReadWait, time.Since(start))

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start = time.Now()
				require.Error(t, read(ctx, operator.Bounded(waits)))
				require.Equal(t, time.Second, time.Since(start))
			})
		})
	}
}
