package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trueup-go/trueup/test/harness/operator"
)

// Reconcile makes the operator reconcile obj, an object of its own kind, and waits for the end of a
// reconcile that began after the call. Only kind, namespace and name of obj matter.
func (s *Suite) Reconcile(t *testing.T, process *operator.Process, obj client.Object) {
	t.Helper()
	kind, err := apiutil.GVKForObject(obj, s.Admin(t).Scheme())
	require.NoError(t, err)
	asked := time.Now()
	s.Merge(t, obj, fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, asked.UnixNano()))
	s.Eventually(t, func(context.Context) error {
		return Expect(process.HasReconciled(kind.Kind, obj.GetNamespace(), obj.GetName(), asked), "no reconcile")
	})
}

// Settle waits until nothing changes any more and the operator has nothing left to do for obj, the
// only object of its kind in the namespace: one more reconcile sends no request. As Kubernetes'
// controllers may still be at work, Settle tries more than once.
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
