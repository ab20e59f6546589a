package trueup_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/finalizer"
	"github.com/trueup-go/trueup/status"
)

// TestErrorsOfStatusAndFinalizer has ensure.Reason and ensure.Retry judge the errors of the
// packages that do not import ensure.
func TestErrorsOfStatusAndFinalizer(t *testing.T) {
	sites := schema.GroupResource{Resource: "websites"}
	withoutReason := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Message: "admission webhook denied the request"}}
	for name, tc := range map[string]struct {
		answer error // nil: the call itself is refused
		reason string
		after  time.Duration // 0: the rate limiter's
	}{
		"refused":          {nil, "Refused", 2 * time.Minute},
		"conflict":         {apierrors.NewConflict(sites, "shop", errors.New("changed")), "Conflict", 100 * time.Millisecond},
		"forbidden":        {apierrors.NewForbidden(sites, "shop", errors.New("no right")), "Forbidden", 0},
		"no reason given":  {withoutReason, "Forbidden", 0},
		"too many":         {apierrors.NewTooManyRequests("slow down", 1), "TooManyRequests", 0},
		"not reachable":    {errors.New("no route"), "Unavailable", 0},
		"policy's refusal": {apierrors.NewInvalid(schema.GroupKind{}, "shop", field.ErrorList{field.Required(field.NewPath("status"), "")}), "Invalid", 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{statusError(t, tc.answer), finalizerError(t, tc.answer)} {
				for _, err := range []error{err, fmt.Errorf("cannot report: %w", err), utilerrors.NewAggregate([]error{errors.New("x"), err})} {
					require.Equal(t, tc.reason, ensure.Reason(err), "%v", err)
				}
				result, retry := ensure.Retry(t.Context(), errors.Join(err, context.Canceled))
				require.Equal(t, tc.after == 0, retry != nil, "%v", err)
				require.Equal(t, tc.after, result.RequeueAfter)
			}
		})
	}
}

// statusError is that of a status write that is answered with answer, or refused.
func statusError(t *testing.T, answer error) error {
	t.Helper()
	site := shop()
	site.ResourceVersion = "1"
	err := status.Patch(t.Context(), answering(answer), site, func(site *Website) {
		site.Status.Conditions = []metav1.Condition{{Type: "Ready"}}
		if answer == nil {
			site.Spec.Image = "another"
		}
	})
	require.Error(t, err)
	failure, ok := errors.AsType[*status.Error](err)
	require.True(t, ok)
	require.Equal(t, failure.Reason, ensure.Reason(err), "one reason everywhere")
	return err
}

// finalizerError is that of adding a finalizer.
func finalizerError(t *testing.T, answer error) error {
	t.Helper()
	name := "example.com/row"
	if answer == nil {
		name = "no such name/"
	}
	step := finalizer.Step{Name: name, Cleanup: func(context.Context) error { return nil }}
	_, err := finalizer.Handle(t.Context(), answering(answer), shop(), step)
	require.Error(t, err)
	return err
}

// answering is a client whose patches are all answered with err.
func answering(err error) client.Client {
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(newScheme()).Build(), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return err
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return err
		},
	})
}
