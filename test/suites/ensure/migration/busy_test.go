package migration_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// TestBesideStatusWriters: somebody writes the status of objects without a pause while 20 of them are migrated.
func TestBesideStatusWriters(t *testing.T) {
	const migrations = 20
	namespace, old, c := shared.Namespace(t), program.Client(t, shared, oldName), program.Client(t, shared, taker)
	named := func(i int) *appsv1.Deployment {
		d := idle(namespace)
		d.Name = fmt.Sprintf("web-%d", i)
		return d
	}
	for i := range migrations {
		require.NoError(t, old.Create(t.Context(), named(i)))
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	reports := 0
	go func() {
		reporter := program.Client(t, shared, "status-writer")
		for ; ; reports++ {
			patch := fmt.Sprintf(`{"status":{"collisionCount":%d}}`, reports)
			err := reporter.Status().Patch(ctx, named(reports%migrations), client.RawPatch(types.MergePatchType, []byte(patch)))
			if err != nil {
				done <- err
				return
			}
		}
	}()
	e := ensure.New(c, c, taker)
	for i := range migrations {
		opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
		require.Equal(t, ensure.Migrated, mustEnsure(t, e, named(i), opts...).Cause)
		require.Equal(t, ensure.Unchanged, mustEnsure(t, e, named(i), opts...).Operation)
	}
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Greater(t, reports, migrations, "the status was written meanwhile")
}
