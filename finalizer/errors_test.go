package finalizer_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/finalizer"
)

// secret is what a server's message quotes and no text about a Secret may repeat.
const secret = "hunter2"

// status is an answer whose messages all quote the secret.
func status(code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) *apierrors.StatusError {
	return quoting("the object {password: "+secret+"} was refused", code, reason, causes...)
}

func quoting(message string, code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) *apierrors.StatusError {
	for i := range causes {
		causes[i].Message = `Invalid value: "` + secret + `": is wrong`
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Causes: causes},
	}}
}

func cause(kind metav1.CauseType, field string) metav1.StatusCause {
	return metav1.StatusCause{Type: kind, Field: field}
}

const wrong = "the object {password: " + secret + "} was refused"

// TestAnswers is about what a patch may be answered with.
func TestAnswers(t *testing.T) {
	invalid := metav1.StatusReasonInvalid
	noDetails := status(422, invalid)
	noDetails.ErrStatus.Details = nil
	cases := map[string]struct {
		why      string
		answer   error
		conflict bool
		text     string
	}{
		"failed test": {
			"so the server answers when the list or the UID is another", status(422, invalid),
			true, "Conflict: its finalizers were changed, or it was replaced, after it was read",
		},
		"failed test, no details": {
			"an older server", noDetails, true, "Conflict: its finalizers were changed, or it was replaced, after it was read",
		},
		"late addition": {
			"its deletion began between read and write", status(422, invalid,
				cause(metav1.CauseTypeForbidden, "metadata.finalizers"), cause(metav1.CauseTypeForbidden, "metadata.finalizers")),
			true, "Conflict: its deletion began after it was read",
		},
		"409": {"as the server says", status(409, metav1.StatusReasonConflict), true, "Conflict: " + wrong},
		"no slash": {
			"trying again does not help", status(422, invalid, cause(metav1.CauseTypeFieldValueInvalid, "metadata.finalizers[1]"),
				cause(metav1.CauseTypeFieldValueInvalid, "metadata.finalizers[1]")), false,
			`Invalid: metadata.finalizers[1]: Invalid value: "hunter2": is wrong`,
		},
		"ill-formed": {
			"nor here", status(422, invalid, cause(metav1.CauseTypeFieldValueInvalid, "metadata.finalizers")), false,
			`Invalid: metadata.finalizers: Invalid value: "hunter2": is wrong`,
		},
		"invalid elsewhere": {
			"the object does not fit today's schema",
			status(422, invalid, cause(metav1.CauseTypeFieldValueRequired, "spec.host"), cause(metav1.CauseTypeForbidden, "spec.path")), false,
			`Invalid: spec.host: Invalid value: "hunter2": is wrong, spec.path: Invalid value: "hunter2": is wrong`,
		},
		"policy": {"its cause names no field", status(422, invalid, cause("", "")), false, "Invalid: " + wrong},
		"webhook": {
			"what a webhook refuses like that it refuses again",
			quoting(`admission webhook "strict.example.com" denied the request: `+secret, 422, invalid), false,
			`Invalid: admission webhook "strict.example.com" denied the request: hunter2`,
		},
		"webhook's 404": {
			"it misses something else", quoting(`admission webhook "strict.example.com" denied the request: `+secret, 404, metav1.StatusReasonNotFound),
			false, `NotFound: admission webhook "strict.example.com" denied the request: hunter2`,
		},
		"no such resource": {
			"its version may be served no more", status(404, metav1.StatusReasonNotFound, cause(metav1.CauseTypeUnexpectedServerResponse, "")),
			false, "NotFound: " + wrong,
		},
		"403": {
			"a right, most likely", status(403, metav1.StatusReasonForbidden), false,
			"Forbidden: " + wrong,
		},
		"500":           {"no reason is given", status(500, ""), false, wrong},
		"made-up words": {"a webhook's", status(418, "I'm {"+secret+"}"), false, wrong},
		"no connection": {
			"its text holds no object",
			&url.Error{Op: "Patch", URL: "https://127.0.0.1", Err: errors.New("connection refused")}, false, "connection refused",
		},
		"cancelled":    {"at shutdown", context.Canceled, false, "it was cancelled, or took too long"},
		"too late":     {"its text holds no object", context.DeadlineExceeded, false, "it was cancelled, or took too long"},
		"unknown kind": {"a CRD is missing", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Site"}}, false, `no matches for kind "Site" in group ""`},
		"no type": {
			"the scheme lacks it", runtime.NewNotRegisteredErrForType("scheme.go", nil), false,
			runtime.NewNotRegisteredErrForType("scheme.go", nil).Error(),
		},
		"no kind":    {"an unstructured object", runtime.NewMissingKindErr(secret), false, "apiVersion or kind is not set"},
		"no version": {"an unstructured object", runtime.NewMissingVersionErr(secret), false, "apiVersion or kind is not set"},
		"other": {
			"who reads it may read the object", errors.New("cannot decode " + secret), false, "cannot decode " + secret,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check := func(obj *corev1.ConfigMap, result finalizer.Result, prefix string) {
				s := newServer(obj.DeepCopy())
				read := read(t, s, obj)
				before := read.DeepCopy()
				s.answers = []error{tc.answer}
				got, err := finalizer.Handle(t.Context(), s, read, steps(row, bucket)...)
				require.EqualError(t, err, prefix+tc.text, tc.why)
				require.Equal(t, result, got)
				require.Equal(t, before, read, "obj stays as it was")
				require.Equal(t, tc.conflict, apierrors.IsConflict(err), tc.why)
				if !tc.conflict {
					require.ErrorIs(t, err, tc.answer)
				}
				retry, _ := ensure.Retry(t.Context(), err)
				require.Equal(t, tc.conflict, retry.RequeueAfter == 100*time.Millisecond)
				require.Len(t, s.patches, 1, "it is for the caller to try again")
			}
			check(site(foreign), finalizer.Result{},
				`cannot add finalizers "example.com/row", "example.com/bucket" to ConfigMap "default/site": `)
			check(goingSite(foreign, row, bucket), finalizer.Result{Done: true},
				`cannot remove finalizer "example.com/row" from ConfigMap "default/site": `)
		})
	}
}

func TestTheMessageAboutASecretIsNotShown(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		text   string
	}{
		"fields": {status(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeFieldValueInvalid, "data[x]")), "Invalid: data[x] (FieldValueInvalid)"},
		"policy": {status(403, metav1.StatusReasonForbidden), "Forbidden: the API server's message is not shown, as it can quote the object"},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &corev1.Secret{ObjectMeta: site().ObjectMeta}
			s := newServer(obj.DeepCopy())
			s.answers = []error{tc.answer}
			_, err := finalizer.Handle(t.Context(), s, obj, steps(row)...)
			require.EqualError(t, err, `cannot add finalizer "example.com/row" to Secret "default/site": `+tc.text)
			require.ErrorIs(t, err, tc.answer)
		})
	}
}

// The whole message is there for those who ask.
func TestUnwrapGivesTheAnswer(t *testing.T) {
	for name, answer := range map[string]*apierrors.StatusError{
		"conflict by another name": status(422, metav1.StatusReasonInvalid),
		"conflict":                 status(409, metav1.StatusReasonConflict),
		"forbidden":                status(403, metav1.StatusReasonForbidden),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(site())
			s.answers = []error{answer}
			_, err := finalizer.Handle(t.Context(), s, site(), steps(row)...)
			got, ok := errors.AsType[*apierrors.StatusError](err)
			require.True(t, ok)
			require.Contains(t, got.ErrStatus.Message, secret)
		})
	}
}

func TestRefusals(t *testing.T) {
	nameless := site()
	nameless.Name = ""
	unknown := &unstructured.Unstructured{}
	unknown.SetName("site")
	var noClient *server
	cases := map[string]struct {
		why    string
		client client.Client
		obj    client.Object
		steps  []finalizer.Step
		text   string
	}{
		"nil client":       {"a field that was never set", nil, site(), steps(row), "cannot handle finalizers: the client is nil"},
		"typed nil client": {"no panic", noClient, site(), steps(row), "cannot handle finalizers: the client is nil"},
		"nil object":       {"no panic", newServer(), nil, steps(row), "cannot handle finalizers: the object is nil, or embeds a pointer that is nil"},
		"typed nil object": {"no panic", newServer(), (*corev1.ConfigMap)(nil), steps(row), "cannot handle finalizers: the object is nil, or embeds a pointer that is nil"},
		"object that embeds nil": {
			"no panic", newServer(), embedding{}, steps(row), "cannot handle finalizers: the object is nil, or embeds a pointer that is nil",
		},
		"no name": {
			"it was never read", newServer(), nameless, steps(row),
			`cannot handle finalizers of ConfigMap "default/": metadata.name is empty: pass the object as it was read`,
		},
		"no kind": {
			"named as far as it can be", newServer(), unknown, steps(""),
			`cannot handle finalizer "" of object "site": the API server does not accept this name: name part must be non-empty`,
		},
		"ill-formed": {
			"as the API server says it", newServer(), site(), steps("example.com/a b"),
			`cannot handle finalizer "example.com/a b" of ConfigMap "default/site": the API server does not accept this name: ` +
				`name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
				`(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		},
		"twice": {
			"one of them would never run", newServer(), site(), steps(row, bucket, row),
			`cannot handle finalizer "example.com/row" of ConfigMap "default/site": two steps have this name`,
		},
		"no Cleanup": {
			"found before the object is going", newServer(), site(row),
			[]finalizer.Step{{Name: row}},
			`cannot handle finalizer "example.com/row" of ConfigMap "default/site": its step has no Cleanup function`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			result, err := finalizer.Handle(t.Context(), tc.client, tc.obj, tc.steps...)
			require.EqualError(t, err, tc.text, tc.why)
			require.Zero(t, result)
			if s, ok := tc.client.(*server); ok && s != nil {
				require.Empty(t, s.patches)
			}
		})
	}
}

// Steps are looked at before the first of them is taken.
func TestRefusalsOfAnObjectThatIsGoing(t *testing.T) {
	s := newServer(goingSite(row, bucket))
	j := &journal{}
	_, err := finalizer.Handle(t.Context(), s, read(t, s, site()), j.step(row), finalizer.Step{Name: bucket})
	require.Error(t, err)
	require.Empty(t, j.ran)
	require.Empty(t, s.patches)
}

// An embedding has the methods of a pointer that may be nil.
type embedding struct{ *corev1.ConfigMap }
