package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/test/e2e/operator"
)

// Reconcile makes the operator look at obj, one of its own kind, again, and returns
// when a look that began since then has ended: one that was under way does not count.
// Only kind, namespace and name of obj count.
func (s *Suite) Reconcile(t *testing.T, process *operator.Process, obj client.Object) {
	t.Helper()
	kind, err := apiutil.GVKForObject(obj, s.Human(t).Scheme())
	require.NoError(t, err)
	asked := time.Now()
	s.Merge(t, obj, fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, asked.UnixNano()))
	s.Eventually(t, func(context.Context) error {
		return Expect(process.HasReconciled(kind.Kind, obj.GetNamespace(), obj.GetName(), asked), "no reconcile")
	})
}

// Settle waits until all is at rest, and the operator has nothing left to do about obj,
// which has its namespace for itself: one more reconcile makes no request. What
// Kubernetes' controllers are still about may reach the operator a moment later, so this
// is tried more than once.
func (s *Suite) Settle(t *testing.T, process *operator.Process, obj client.Object, isAtRest func(context.Context) error) {
	t.Helper()
	var requests map[string]int
	for range 10 {
		s.Eventually(t, isAtRest)
		mark := (*s.cluster).Mark()
		s.Reconcile(t, process, obj)
		if requests = s.Requests(t, mark, obj.GetNamespace()); len(requests) == 0 && isAtRest(t.Context()) == nil {
			return
		}
	}
	require.Fail(t, "the operator does not come to rest", "in its last reconcile it made the requests %v", requests)
}
