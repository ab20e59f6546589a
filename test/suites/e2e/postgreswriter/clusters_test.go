package postgreswriter_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// TestTwoClusters copies a PostgresWriter into a second cluster that uses the same database, with its finalizer and
// its status, as a backup tool does. The row stays that of the first cluster, also when the copy is deleted.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := newFixtureWithOwnOperator(t, d)
	f.create(t)
	f.settle(t)

	second, err := cluster.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Stop()) })
	there, err := operator.Install(t.Context(), second, "postgreswriter")
	require.NoError(t, err)
	admin, err := client.New(second.Config(), client.Options{Scheme: admin(t).Scheme()})
	require.NoError(t, err)
	require.NoError(t, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}))
	duplicate := f.writer(t)
	status := duplicate.Status
	duplicate.ResourceVersion, duplicate.UID = "", ""
	require.NoError(t, admin.Create(t.Context(), duplicate))
	duplicate.Status = status
	require.NoError(t, admin.Status().Update(t.Context(), duplicate))
	duplicate.Spec.Age = 99
	require.NoError(t, admin.Update(t.Context(), duplicate))

	process, err := there.With("", d.env()...).Start(t.Context(), "--watch-namespace", f.namespace)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, process.Stop()) })
	eventually(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(duplicate), duplicate); err != nil {
			return err
		}
		return expect(condition(duplicate).Reason == "RowExists", "%+v", duplicate.Status)
	})
	require.Equal(t, alex, d.rows(t, "students")[f.key()])
	require.NoError(t, admin.Delete(t.Context(), duplicate))
	eventually(t, func(ctx context.Context) error {
		err := admin.Get(ctx, client.ObjectKeyFromObject(duplicate), duplicate)
		return expect(apierrors.IsNotFound(err), "it is not gone: %v", err)
	})
	require.NoError(t, f.checkState(t), "the row of the first cluster is as before")
}
