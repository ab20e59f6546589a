package uninstalled_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// short is less than any answer takes in these tests.
const short = 200 * time.Millisecond

// TestCallsCutShortLeaveNoGoroutine has callers give up on a cache that waits for the first list of a
// kind, and on kinds that go and come back.
func TestCallsCutShortLeaveNoGoroutine(t *testing.T) {
	each(t, clients, func(t *testing.T, f *fixture) {
		cutShort := func() {
			f.uninstall()
			for _, call := range f.calls() {
				ctx, cancel := context.WithTimeout(t.Context(), short)
				_, _ = call(ctx) // some are answered in time
				cancel()
			}
		}
		f.install("v1")
		f.discoverKind()
		cutShort()
		awaitNoGoroutine(t)
		for range 3 {
			f.install("v1")
			f.requireDeletion()
			cutShort()
		}
		awaitNoGoroutine(t)
	})
}

// TestWritesCutShortLeaveNoGoroutine has callers give up on writes and dry runs that the API server
// does not answer in time.
func TestWritesCutShortLeaveNoGoroutine(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Cached(t, shared, "hasty")
	e := ensure.New(c.GetClient(), c.GetAPIReader(), "hasty")
	child := func(color string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"color": color}}
	}
	_, err := ensure.Object(t.Context(), e, child("red"))
	require.NoError(t, err)

	slow := admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
		<-ctx.Done() // the API server hangs up when its client does
		return admission.Allowed("")
	})
	stop, err := shared.MutatingWebhook(t.Context(), namespace, []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}, slow)
	require.NoError(t, err)
	for range 3 {
		for _, opts := range [][]ensure.Option{{ensure.DryRun()}, nil} {
			ctx, cancel := context.WithTimeout(t.Context(), short)
			_, err := ensure.Object(ctx, e, child("blue"), opts...)
			cancel()
			require.ErrorIs(t, err, ensure.ErrAPI)
		}
	}
	awaitNoGoroutine(t)
	require.NoError(t, stop())

	require.NoError(t, shared.Await(t.Context(), limit, namespace, func(ctx context.Context) error {
		_, err := ensure.Object(ctx, e, child("blue"))
		return err
	}))
	live := child("")
	require.NoError(t, c.GetAPIReader().Get(t.Context(), client.ObjectKeyFromObject(live), live))
	require.Equal(t, "blue", live.Data["color"])
}

// TestReadsLeaveNoGoroutine: ensure limits a read with a context of its own type.
func TestReadsLeaveNoGoroutine(t *testing.T) {
	namespace, c := shared.Namespace(t), program.Cached(t, shared, "reader")
	e := ensure.New(c.GetClient(), c.GetAPIReader(), "reader")
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}}
	read := func() {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err := ensure.Object(ctx, e, child)
		require.NoError(t, err)
	}
	read()
	before := runtime.NumGoroutine()
	for range 200 {
		read()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before+100, "an informer has a few, which come and go")
}

// awaitNoGoroutine waits until no goroutine is left that package ensure began, or that is in a call
// of it. The goroutines of an informer start and end by themselves.
func awaitNoGoroutine(t *testing.T) {
	t.Helper()
	require.NoError(t, shared.Await(t.Context(), 10*time.Second, "", func(context.Context) error {
		var all bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&all, 2); err != nil {
			return err
		}
		for stack := range strings.SplitSeq(all.String(), "\n\n") {
			if strings.Contains(stack, "github.com/trueup-go/trueup/ensure.") {
				return fmt.Errorf("a goroutine is left:\n%s", stack)
			}
		}
		return nil
	}))
}
