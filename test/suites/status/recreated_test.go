package status_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/status/readiness"
)

// TestALaterGenerationCountsAsObserved: the controllers of StatefulSets and DaemonSets may write the status of a
// deleted object to the one that was created in its place, and do not correct its observedGeneration.
func TestALaterGenerationCountsAsObserved(t *testing.T) {
	r := &report{client: newClient(t, "readiness")}
	namespace := shared.Namespace(t)
	for kind, workload := range map[string]client.Object{
		"StatefulSet": &appsv1.StatefulSet{ObjectMeta: named(namespace, "set"), Spec: appsv1.StatefulSetSpec{
			Selector: selector("set"), Template: template("set", good), ServiceName: "set",
		}},
		"DaemonSet": &appsv1.DaemonSet{ObjectMeta: named(namespace, "agent"), Spec: appsv1.DaemonSetSpec{
			Selector: selector("agent"), Template: template("agent", good),
		}},
	} {
		t.Run(kind, func(t *testing.T) {
			isReady := func(obj client.Object) bool { return readiness.Of(obj).State == readiness.Ready }
			until(t, r, create(t, r, workload), isReady)
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":7}}`))
			require.NoError(t, r.client.Status().Patch(t.Context(), workload, patch))
			require.True(t, isReady(workload), "%+v", readiness.Of(workload))
			explained, err := readiness.Explain(t.Context(), r.client, workload)
			require.NoError(t, err)
			require.Equal(t, readiness.Ready, explained.State, explained.Message)
		})
	}
}
