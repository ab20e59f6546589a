package ensuretest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

// failing remembers what a test was failed with.
type failing struct {
	*testing.T

	text string
}

func (f *failing) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

var errRefused = errors.New("refused")

func TestConvergeGetsOverErrors(t *testing.T) {
	c := ensuretest.NewClient(scheme.Scheme)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "settings", errRefused)
	conflicts := 3
	faulty := interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if conflicts--; conflicts >= 0 {
				return conflict
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	})
	e := ensure.New(faulty, c.APIReader(), "web-operator")

	requests := ensuretest.Converge(t, c, func(ctx context.Context) error {
		_, err := ensure.Object(ctx, e, settings("hello"))
		return err
	})
	require.Equal(t, "apply ConfigMap default/settings: created", requests[len(requests)-1].String())
}

func TestConvergeTellsTheLastError(t *testing.T) {
	f := &failing{T: t}
	ensuretest.Converge(f, ensuretest.NewClient(scheme.Scheme), func(context.Context) error { return errRefused })

	want := "the reconcile still fails in pass 30" +
		"\nthe third-last pass: failed: refused\nthe second-last pass: failed: refused\nthe last pass: failed: refused"
	require.Empty(t, cmp.Diff(want, f.text))
}

func TestConvergeIsNotDoneByAnErrorThatWritesNothing(t *testing.T) {
	c := ensuretest.NewClient(scheme.Scheme)
	passes := 0
	ensuretest.Converge(t, c, func(context.Context) error {
		if passes++; passes < 3 {
			return errRefused
		}
		return nil
	})
	require.Equal(t, 3, passes)
}

// A write that the server finds to be none is a request in each pass all the same.
func TestConvergeFailsUpdatesThatChangeNothing(t *testing.T) {
	c := ensuretest.NewClient(scheme.Scheme, settings("hello"))
	f := &failing{T: t}
	ensuretest.Converge(f, c, func(ctx context.Context) error { return c.Update(ctx, settings("hello")) })
	require.Contains(t, f.text, "the reconcile still writes in pass 30")
	require.Contains(t, f.text, "update ConfigMap default/settings: changed nothing")
}

// The condition of an owner, whose time is new in each pass.
func TestConvergeFailsTimesInTheStatus(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	c := ensuretest.NewClient(scheme.Scheme, deployment)
	f := &failing{T: t}
	passes := 0
	ensuretest.Converge(f, c, func(ctx context.Context) error {
		passes++
		patch := fmt.Sprintf(`{"status":{"replicas":%d,"conditions":[{"type":"Available","status":"True","message":"%d"}]}}`, passes, passes)
		return c.Status().Patch(ctx, deployment, client.RawPatch(types.MergePatchType, []byte(patch)))
	})
	require.Contains(t, f.text, "the last pass:\n\tpatch status of Deployment default/web: "+
		"status.conditions[type=Available].message, status.replicas 29 -> 30")
}

func TestConvergeShowsNoSecrets(t *testing.T) {
	c := ensuretest.NewClient(scheme.Scheme)
	e := ensure.New(c, c.APIReader(), "web-operator")
	f := &failing{T: t}
	passes := 0
	ensuretest.Converge(f, c, func(ctx context.Context) error {
		passes++
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "login"}}
		secret.StringData = map[string]string{"password": fmt.Sprintf("hunter%d", passes)}
		_, err := ensure.Object(ctx, e, secret)
		return err
	})
	require.Contains(t, f.text, "desired is not deterministic: each call has other values in data[password]")
	require.NotContains(t, f.text, "hunter")
	requests := fmt.Sprint(c.Requests())
	require.Contains(t, requests, "apply Secret default/login: data[password]")
	require.NotContains(t, requests, "hunter")
}

// A time of whole seconds is the same in passes that follow each other at once.
func TestConvergeSeesTimesOfWholeSeconds(t *testing.T) {
	noteTime := func(ctx context.Context, c client.Client) error {
		obj := settings("")
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		now := time.Now().Format(time.RFC3339)
		if obj.Data["text"] == now {
			return nil
		}
		obj.Data["text"] = now
		return c.Update(ctx, obj)
	}
	synctest.Test(t, func(t *testing.T) {
		c := ensuretest.NewClient(scheme.Scheme, settings("hello"))
		f := &failing{T: t}
		begin := time.Now()
		ensuretest.Converge(f, c, func(ctx context.Context) error { return noteTime(ctx, c) })
		require.Equal(t, 3*time.Second, time.Since(begin), "seconds that were waited for")

		want := "the reconcile wrote again 3 times right after a pass that wrote nothing, in another second than before: " +
			"does it write a time, or in every second pass?" +
			"\nthe third-last pass:\n\tupdate ConfigMap default/settings: data[text]" +
			"\nthe second-last pass: wrote nothing" +
			"\nthe last pass:\n\tupdate ConfigMap default/settings: data[text]"
		require.Empty(t, cmp.Diff(want, f.text))
	})
}

func TestConvergeFailsWritesInEverySecondPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ensuretest.NewClient(scheme.Scheme, settings("hello"))
		f := &failing{T: t}
		passes := 0
		ensuretest.Converge(f, c, func(ctx context.Context) error {
			if passes++; passes%2 == 0 {
				return nil
			}
			return c.Update(ctx, settings(fmt.Sprint(passes)))
		})
		require.Contains(t, f.text, "in every second pass?")
		require.Equal(t, 7, passes)
	})
}

// An operator may be woken once more by what it wrote.
func TestConvergeLetsAnOperatorWriteOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ensuretest.NewClient(scheme.Scheme, settings("hello"))
		passes := 0
		requests := ensuretest.Converge(t, c, func(ctx context.Context) error {
			if passes++; passes == 1 || passes == 3 {
				return c.Update(ctx, settings(fmt.Sprint(passes)))
			}
			return nil
		})
		require.Len(t, requests, 2)
		require.Equal(t, 5, passes)
	})
}

// Only a call that wrote has to see another second.
func TestConvergeWaitsForNothingWithoutAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := ensuretest.NewClient(scheme.Scheme)
		e := ensure.New(c, c.APIReader(), "web-operator")
		reconcile := func(ctx context.Context) error {
			_, err := ensure.Object(ctx, e, settings("hello"))
			return err
		}
		ensuretest.Converge(t, c, reconcile)
		begin := time.Now()
		require.Empty(t, ensuretest.Converge(t, c, reconcile))
		require.Zero(t, time.Since(begin))
	})
}

// ensure.Retry takes the error of a contest, and the passes that are held write nothing.
func TestConvergeFailsAContestThatRetryTook(t *testing.T) {
	f := &failing{T: t}
	c := ensuretest.NewClient(scheme.Scheme)
	e := ensure.New(c, c.APIReader(), "web-operator")
	ensuretest.Converge(f, c, func(ctx context.Context) error {
		_, first := ensure.Object(ctx, e, settings("hello"))
		_, second := ensure.Object(ctx, e, settings("goodbye"))
		_, err := ensure.Retry(ctx, errors.Join(first, second))
		return err
	})
	require.Contains(t, f.text, "another caller in this process writes other values to data[text]")
}
