package reversewordsapp_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/longform"
)

const (
	fleet = 100
	// fleetLimit is how long a hundred may take, on a machine that has other things to do.
	fleetLimit = 2 * time.Minute
	// quiet is how long no request may come.
	quiet = time.Minute
)

// TestFleet creates a hundred ReverseWordsApps at once. When all are ready, the operator sends no
// request for a minute. For this, it runs without leader election, whose lease would be renewed, no
// watch reaches its maximum age, and it watches one namespace, as objects of earlier tests may
// still be being deleted.
func TestFleet(t *testing.T) {
	longform.Only(t)
	namespace := shared.Namespace(t)
	startWith(t, installed(t), "--watch-namespace", namespace)
	mark := shared.Mark()
	for i := range fleet {
		require.NoError(t, admin(t).Create(t.Context(), &v1alpha1.ReverseWordsApp{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("app-%d", i)},
			Spec:       v1alpha1.ReverseWordsAppSpec{Replicas: 1},
		}))
	}
	began := time.Now()
	require.NoError(t, shared.Await(t.Context(), fleetLimit, "", func(ctx context.Context) error {
		var apps v1alpha1.ReverseWordsAppList
		if err := admin(t).List(ctx, &apps, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range apps.Items {
			if err := isReady(&apps.Items[i]); err != nil {
				return fmt.Errorf("%s: %w", apps.Items[i].Name, err)
			}
			if len(apps.Items[i].Status.AppPods) != 1 {
				return fmt.Errorf("%s: pods %v", apps.Items[i].Name, apps.Items[i].Status.AppPods)
			}
		}
		return nil
	}))
	t.Logf("%d were ready after %.1f s, by the requests %v", fleet, time.Since(began).Seconds(), tests.Requests(t, mark, namespace))

	user := installed(t)
	requests := func() map[string]int {
		sent, err := shared.Requests(mark, cluster.ByUser(user.User()))
		require.NoError(t, err)
		return cluster.Counts(sent)
	}
	// Kubernetes' own controllers may cause another status write.
	eventually(t, func(ctx context.Context) error {
		mark = shared.Mark()
		return isQuiet(ctx, 5*time.Second, requests)
	})
	mark = shared.Mark()
	require.NoError(t, isQuiet(t.Context(), quiet, requests))
}

// isQuiet waits for as long as no request is sent, and is an error if one is.
func isQuiet(ctx context.Context, span time.Duration, requests func() map[string]int) error {
	over := time.After(span)
	again := time.NewTicker(span / 10)
	defer again.Stop()
	for {
		if sent := requests(); len(sent) > 0 {
			return fmt.Errorf("requests were sent: %v", sent)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return nil
		case <-again.C:
		}
	}
}
