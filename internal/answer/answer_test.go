package answer_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trueup-go/trueup/internal/answer"
)

// secret is what a server's message quotes and nothing of ours may repeat.
const secret = "hunter2"

// refusal is an answer as an API server gives it to a client, which wraps it.
func refusal(code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) error {
	return quoting("the object {password: "+secret+"} was refused", code, reason, causes...)
}

func quoting(message string, code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) error {
	status := metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
	if causes != nil {
		status.Details = &metav1.StatusDetails{Causes: causes}
	}
	return fmt.Errorf("wrapped: %w", &apierrors.StatusError{ErrStatus: status})
}

func cause(kind metav1.CauseType, field string) metav1.StatusCause {
	return metav1.StatusCause{Type: kind, Field: field, Message: `Invalid value: "` + secret + `"`}
}

func TestCauses(t *testing.T) {
	for name, tc := range map[string]struct {
		why            string
		err            error
		causes         int
		fields, faults []string
	}{
		"several": {
			"each fault is named once, a policy's cause has no field",
			refusal(422, metav1.StatusReasonInvalid,
				cause(metav1.CauseTypeFieldValueInvalid, "spec.size"), cause(metav1.CauseTypeFieldValueInvalid, "spec.size"), cause("", ""),
				cause(metav1.CauseTypeForbidden, "spec.size"), cause(metav1.CauseTypeFieldValueRequired, "spec.host")),
			5,
			[]string{"spec.size", "spec.host"},
			[]string{"spec.size (FieldValueInvalid)", "spec.size (FieldValueForbidden)", "spec.host (FieldValueRequired)"},
		},
		"the whole object": {
			"it has no name", refusal(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeTooLong, "[]")), 1, nil, []string{"[] (FieldValueTooLong)"},
		},
		"none":       {"the message is all there is", refusal(422, metav1.StatusReasonInvalid), 0, nil, nil},
		"no answer":  {"nobody was reached", errors.New(secret), 0, nil, nil},
		"no failure": {"nothing to tell", nil, 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, answer.Causes(tc.err), tc.causes, tc.why)
			require.Empty(t, cmp.Diff(tc.fields, answer.Fields(tc.err)))
			require.Empty(t, cmp.Diff(tc.faults, answer.Faults(tc.err)))
		})
	}
}

// What a server says of null is tried on a real one in test/suites/ensure/content.
func TestNulls(t *testing.T) {
	of := func(kind metav1.CauseType, field, value string) metav1.StatusCause {
		message := fmt.Sprintf("Invalid value: %q: %s in body must be of type integer: %q", value, field, value)
		return metav1.StatusCause{Type: kind, Field: field, Message: message}
	}
	err := refusal(422, metav1.StatusReasonInvalid,
		of(metav1.CauseTypeTypeInvalid, "spec.size", "null"), of(metav1.CauseTypeTypeInvalid, "spec.count", "string"),
		of(metav1.CauseTypeFieldValueInvalid, "spec.mode", "null"), of(metav1.CauseTypeTypeInvalid, "spec.parts[1].size", "null"))
	require.Empty(t, cmp.Diff([]string{"spec.size", "spec.parts[1].size"}, answer.Nulls(err)))
	require.Empty(t, answer.Nulls(errors.New(secret)))
	require.Empty(t, answer.Nulls(nil))
}

func TestReason(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"the server's":       {refusal(409, metav1.StatusReasonConflict), "Conflict"},
		"none":               {refusal(500, ""), "Otherwise"},
		"made up":            {refusal(403, "no way: "+secret), "Forbidden"},
		"in another script":  {refusal(403, "理由"), "Forbidden"},
		"of no known code":   {refusal(418, "I'm a teapot"), "Otherwise"},
		"of no answer":       {errors.New(secret), "Otherwise"},
		"of a webhook's 422": {quoting(`admission webhook "strict" denied the request: `+secret, 422, ""), "Invalid"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, answer.Reason(tc.err, "Otherwise")) })
	}
}

// What the server says when a JSON patch's test fails, and a webhook with the same code, is
// tried on a real one in test/suites/status.
func TestConflictsByAnotherName(t *testing.T) {
	late := cause(metav1.CauseTypeForbidden, "metadata.finalizers")
	for name, tc := range map[string]struct {
		err                       error
		failedTest, lateFinalizer bool
	}{
		"a failed test":            {refusal(422, metav1.StatusReasonInvalid, []metav1.StatusCause{}...), true, false},
		"without details":          {refusal(422, metav1.StatusReasonInvalid), true, false},
		"a webhook's code":         {quoting(`admission webhook "strict" denied the request: `+secret, 422, ""), false, false},
		"a webhook's code, reason": {quoting(`admission webhook "strict" denied the request: `+secret, 422, metav1.StatusReasonInvalid), false, false},
		"a policy's":               {refusal(422, metav1.StatusReasonInvalid, cause("", "")), false, false},
		"a late finalizer":         {refusal(422, metav1.StatusReasonInvalid, cause("", "spec"), late), false, true},
		"an ill-formed finalizer":  {refusal(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeFieldValueInvalid, "metadata.finalizers")), false, false},
		"forbidden":                {refusal(403, metav1.StatusReasonForbidden, late), false, false},
		"no answer":                {errors.New(secret), false, false},
		"no failure":               {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.failedTest, answer.IsFailedTest(tc.err))
			require.Equal(t, tc.lateFinalizer, answer.IsLateFinalizer(tc.err))
		})
	}
}

func TestIsGone(t *testing.T) {
	notFound := metav1.StatusReasonNotFound
	for name, tc := range map[string]struct {
		why  string
		err  error
		want bool
	}{
		"the object":       {"as every server says it", apierrors.NewNotFound(schema.GroupResource{}, "site"), true},
		"wrapped":          {"clients may wrap it", refusal(404, notFound), true},
		"a webhook's":      {"it misses something else", quoting(`admission webhook "strict" denied the request: `+secret, 404, notFound), false},
		"no such resource": {"the object may be there", refusal(404, notFound, cause(metav1.CauseTypeUnexpectedServerResponse, "")), false},
		"another answer":   {"nothing is known", refusal(410, metav1.StatusReasonGone), false},
		"no answer":        {"nobody was reached", errors.New(secret), false},
		"no failure":       {"nothing to tell", nil, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, answer.IsGone(tc.err), tc.why) })
	}
}

// TestIsFinal: what the server was too busy for, or somebody came between, is not.
func TestIsFinal(t *testing.T) {
	resource := schema.GroupResource{Resource: "things"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"no answer":   {errors.New("connection refused"), false},
		"too busy":    {apierrors.NewTooManyRequests("slow down", 1), false},
		"a timeout":   {apierrors.NewServerTimeout(resource, "create", 1), false},
		"a failure":   {apierrors.NewInternalError(errors.New("etcd")), false},
		"a conflict":  {apierrors.NewConflict(resource, "x", errors.New("changed")), false},
		"invalid":     {apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "x", nil), true},
		"forbidden":   {apierrors.NewForbidden(resource, "x", errors.New("a permission is missing")), true},
		"bad request": {fmt.Errorf("wrapped: %w", apierrors.NewBadRequest("no dry run")), true},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, answer.IsFinal(tc.err)) })
	}
}

func TestIsThere(t *testing.T) {
	exists := metav1.StatusReasonAlreadyExists
	for name, tc := range map[string]struct {
		why  string
		err  error
		want bool
	}{
		"the object":     {"as every server says it", apierrors.NewAlreadyExists(schema.GroupResource{}, "site"), true},
		"wrapped":        {"clients may wrap it", refusal(409, exists), true},
		"a webhook's":    {"something else exists", quoting(`admission webhook "strict" denied the request: `+secret, 409, exists), false},
		"another answer": {"it was changed", refusal(409, metav1.StatusReasonConflict), false},
		"no answer":      {"nobody was reached", errors.New(secret), false},
		"no failure":     {"nothing to tell", nil, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, answer.IsThere(tc.err), tc.why) })
	}
}

func TestDescribe(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	unregistered := runtime.NewNotRegisteredErrForType("scheme.go", nil)
	for name, tc := range map[string]struct {
		why  string
		err  error
		want string
	}{
		"an answer":       {"there is nothing to add", refusal(500, ""), ""},
		"no connection":   {"a URL may hold a name", &url.Error{Op: "Patch", URL: "https://server/" + secret, Err: refused}, "dial tcp: connection refused"},
		"the network":     {"without what is around it", fmt.Errorf("%s: %w", secret, refused), "dial tcp: connection refused"},
		"cancelled":       {"at shutdown", fmt.Errorf("%s: %w", secret, context.Canceled), "it was cancelled, or took too long"},
		"too late":        {"a deadline is a net.Error, too", fmt.Errorf("%s: %w", secret, context.DeadlineExceeded), "it was cancelled, or took too long"},
		"an unknown kind": {"a definition is missing", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Site"}}, `no matches for kind "Site" in group ""`},
		"an unknown type": {"the scheme lacks it", unregistered, unregistered.Error()},
		"no kind":         {"an unstructured object", runtime.NewMissingKindErr(secret), "apiVersion or kind is not set"},
		"no version":      {"an unstructured object", runtime.NewMissingVersionErr(secret), "apiVersion or kind is not set"},
		"anything else":   {"it may quote an object", errors.New(secret), "an error of type *errors.errorString, whose text is not shown, as it can quote the object"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, answer.Describe(tc.err), tc.why) })
	}
}
