package operator_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/internal/operator"
)

func TestRetry(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "shop", nil)
	outOfReach := errors.New("out of reach")
	for _, test := range []struct {
		name            string
		err, handedOn   error
		requeue, logged bool
	}{
		{name: "nothing to retry"},
		{name: "for a person to mend", err: ensure.ErrForeign, requeue: true, logged: true},
		{name: "settled at once", err: conflict, requeue: true},
		{name: "for the rate limiter, and the controller logs it", err: outOfReach, handedOn: outOfReach},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			result, err := operator.Retry(log.IntoContext(t.Context(), zap.New(zap.WriteTo(&out))), test.err)
			require.Equal(t, test.handedOn, err)
			require.Equal(t, test.requeue, result.RequeueAfter > 0)
			require.Equal(t, test.logged, out.Len() > 0, out.String())
		})
	}
}

func TestRateLimiter(t *testing.T) {
	limiter := operator.RateLimiter()
	failing := reconcile.Request{NamespacedName: types.NamespacedName{Name: "failing"}}
	var waits []time.Duration
	for range 8 {
		waits = append(waits, limiter.When(failing))
	}
	require.Empty(t, cmp.Diff([]time.Duration{
		5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second,
		80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute,
	}, waits))
	require.Equal(t, 5*time.Second, limiter.When(reconcile.Request{}), "another is not held up")
}
