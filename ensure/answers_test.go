package ensure_test

import (
	"errors"
	"net"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// secret is what a server's message quotes and no text about a sensitive kind may repeat.
const secret = "hunter2"

// misfit begins the message about a body that does not fit the schema.
const misfit = "failed to create typed patch object (default/settings; /v1, Kind=ConfigMap): "

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
		Details: &metav1.StatusDetails{Name: "settings", Kind: "configmaps", Causes: causes},
	}}
}

func cause(kind metav1.CauseType, field string) metav1.StatusCause {
	return metav1.StatusCause{Type: kind, Field: field}
}

// An answerCase is an answer to the only write of a pass.
type answerCase struct {
	reason string
	answer error
	class  error
	want   string // Reason
	paths  []string
	text   string // of the error about a sensitive kind
}

func answerCases() map[string]answerCase {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	return map[string]answerCase{
		"422 with causes": {
			"fields and types are named, values are not",
			status(422, metav1.StatusReasonInvalid,
				cause(metav1.CauseTypeFieldValueInvalid, "spec.replicas"), cause(metav1.CauseTypeFieldValueRequired, "spec.selector"),
				cause(metav1.CauseTypeFieldValueInvalid, "spec.replicas")),
			ensure.ErrInvalid, "Invalid",
			[]string{"spec.replicas", "spec.selector"},
			"Invalid: spec.replicas (FieldValueInvalid), spec.selector (FieldValueRequired)",
		},
		"422 without causes": {
			"all it says is in its message", status(422, metav1.StatusReasonInvalid),
			ensure.ErrInvalid, "Invalid", nil, "Invalid: the API server names no field; " + notShown,
		},
		"422 of a policy": {
			"its cause names no field", status(422, metav1.StatusReasonInvalid, cause("", "")),
			ensure.ErrInvalid, "Invalid", nil, "Invalid: the API server names no field; " + notShown,
		},
		"400": {
			"a body that does not parse", status(400, metav1.StatusReasonBadRequest),
			ensure.ErrInvalid, "Invalid", nil, "Invalid: the API server names no field; " + notShown,
		},
		"500 of a body that does not fit the schema": {
			"the server calls it its own failure",
			quoting(misfit+"errors:\n"+
				"  .spec.colour: field not declared in schema\n"+
				"  .data.x: expected string, got &value.valueUnstructured{Value:\""+secret+"\"}\n"+
				"  .spec.list[name=\""+secret+"\"].x: field not declared in schema", 500, ""),
			ensure.ErrInvalid, "Invalid",
			[]string{"spec.colour"},
			"Invalid: spec.colour (not in the schema)",
		},
		"500 of one unknown field": {
			"the path stands behind the object",
			quoting(misfit+".spec.colour: field not declared in schema", 500, ""),
			ensure.ErrInvalid, "Invalid",
			[]string{"spec.colour"},
			"Invalid: spec.colour (not in the schema)",
		},
		"500 of a wrong type": {
			"the message quotes the value",
			quoting(misfit+".data.x: expected string, got "+secret, 500, ""),
			ensure.ErrInvalid, "Invalid", nil, "Invalid: the API server names no field; " + notShown,
		},
		"500 of a live object that does not fit the schema": {
			"desired is not at fault",
			quoting("failed to create typed live object (default/settings; v1, Kind=ConfigMap): .data.x: expected string, got "+secret, 500, ""),
			ensure.ErrInvalid, "Invalid", nil, "Invalid: the live object does not fit the schema of v1, so every apply fails: correct the object or the schema: " + notShown,
		},
		"500 of another kind": {
			"etcd is away", status(500, metav1.StatusReasonInternalError),
			ensure.ErrAPI, "InternalError", nil, "InternalError",
		},
		"500 that only begins alike": {
			"it has a reason, so it is another failure", quoting(misfit+secret, 500, metav1.StatusReasonInternalError),
			ensure.ErrAPI, "InternalError", nil, "InternalError",
		},
		"500 without a reason": {
			"nothing is known", status(500, ""), ensure.ErrAPI, "Unavailable", nil, "Unavailable",
		},
		"namespace terminating": {
			"it is made again in the namespace's successor",
			status(403, metav1.StatusReasonForbidden, cause("NamespaceTerminating", "metadata.namespace")),
			ensure.ErrTerminating, "Terminating",
			[]string{"metadata.namespace"},
			"Terminating: its namespace is being deleted",
		},
		"403": {
			"a missing right", status(403, metav1.StatusReasonForbidden), ensure.ErrAPI, "Forbidden", nil, "Forbidden: " + forbidden,
		},
		"404": {
			"no such namespace", status(404, metav1.StatusReasonNotFound), ensure.ErrAPI, "NotFound", nil, "NotFound",
		},
		"429": {
			"too much at once", status(429, metav1.StatusReasonTooManyRequests), ensure.ErrAPI, "TooManyRequests", nil, "TooManyRequests",
		},
		"504": {
			"the server gave up", status(504, metav1.StatusReasonTimeout), ensure.ErrAPI, "Timeout", nil, "Timeout",
		},
		"a reason that no condition takes": {
			"a webhook made it up", status(403, "no way: "+secret), ensure.ErrAPI, "Forbidden", nil, "Forbidden: " + forbidden,
		},
		"no connection": {
			"the text of the network quotes no object",
			&url.Error{Op: "Patch", URL: "https://server/" + secret, Err: refused},
			ensure.ErrAPI, "Unavailable", nil, "Unavailable: dial tcp: connection refused",
		},
		"no connection, bare": {
			"without a URL around it", refused, ensure.ErrAPI, "Unavailable", nil, "Unavailable: dial tcp: connection refused",
		},
		"an error of the client": {
			"nobody knows what it quotes", errors.New("cannot decode " + secret),
			ensure.ErrAPI, "Unavailable", nil, "Unavailable: an error of type *errors.errorString, whose text is not shown, as it can quote the object",
		},
	}
}

// shownTexts are those of the errors about a kind that is not sensitive, where they differ.
func shownTexts() map[string]string {
	const wrong = ": the object {password: " + secret + "} was refused"
	return map[string]string{
		"422 with causes":    "Invalid: spec.replicas: Invalid value: \"" + secret + "\": is wrong, spec.selector: Invalid value: \"" + secret + "\": is wrong",
		"422 without causes": "Invalid" + wrong,
		"422 of a policy":    "Invalid" + wrong,
		"400":                "Invalid" + wrong,
		"500 of a body that does not fit the schema": "Invalid: .spec.colour: field not declared in schema, .spec.list[name=\"" + secret + "\"].x: field not declared in schema",
		"500 of one unknown field":                   "Invalid: .spec.colour: field not declared in schema",
		"500 of a wrong type":                        "Invalid: .data.x: expected string, got " + secret,
		"500 of a live object that does not fit the schema": "Invalid: the live object does not fit the schema of v1, " +
			"so every apply fails: correct the object or the schema: .data.x: expected string, got " + secret,
		"500 of another kind":              "InternalError" + wrong,
		"500 that only begins alike":       "InternalError: " + secret,
		"500 without a reason":             "Unavailable" + wrong,
		"403":                              "Forbidden" + wrong,
		"404":                              "NotFound" + wrong,
		"429":                              "TooManyRequests" + wrong,
		"504":                              "Timeout" + wrong,
		"a reason that no condition takes": "Forbidden" + wrong,
		"an error of the client":           "Unavailable: cannot decode " + secret,
	}
}

const forbidden = "a permission is missing (needed: get, list, watch, create and patch, " +
	"and with ControlledBy update on the finalizers of the owner's kind, and delete for an object that lacks the owner reference), " +
	"a quota is exhausted, or a policy refuses the request; " + notShown

const notShown = "the API server's message is not shown, as it can quote the object"

func TestAnswersToACreate(t *testing.T) {
	eachAnswer(t, func(t *testing.T, _ string, tc answerCase, settings ...ensure.Setting) {
		s := newServer()
		s.answers = []error{tc.answer}
		result, err := ensure.Object(t.Context(), newEnsurer(s, settings...), configMap())
		require.Zero(t, result)
		checkAnswer(t, tc, "create", err)
		require.Empty(t, cmp.Diff([]string{"get", "create"}, s.verbs()), "nothing is tried again")
	})
}

func TestAnswersToAnApply(t *testing.T) {
	eachAnswer(t, func(t *testing.T, name string, tc answerCase, settings ...ensure.Setting) {
		s := newServer()
		created(t, s, configMap())
		changed := configMap()
		changed.Data["color"] = "red"
		s.answers = []error{tc.answer, tc.answer}
		_, err := ensure.Object(t.Context(), newEnsurer(s, settings...), changed)
		checkAnswer(t, tc, "apply", err)
		want := []string{"get", "apply"}
		if name == "422 with causes" {
			want = append(want, "get", "fields", "dry run") // is something in live at fault?
		}
		require.Empty(t, cmp.Diff(want, s.verbs()), "nothing is tried again")
	})
}

// eachAnswer tries every answer, about a sensitive kind and about any other.
func eachAnswer(t *testing.T, try func(t *testing.T, name string, tc answerCase, settings ...ensure.Setting)) {
	t.Helper()
	for name, tc := range answerCases() {
		t.Run(name, func(t *testing.T) { try(t, name, shown(name)) })
		t.Run(name+", sensitive", func(t *testing.T) {
			require.NotContains(t, tc.text, secret)
			try(t, name, tc, sensitiveConfigMaps())
		})
	}
}

func sensitiveConfigMaps() ensure.Setting {
	return ensure.WithSensitive(schema.GroupKind{Kind: "ConfigMap"})
}

// shown is the case of a kind that is not sensitive.
func shown(name string) answerCase {
	tc := answerCases()[name]
	if text := shownTexts()[name]; text != "" {
		tc.text = text
	}
	return tc
}

func TestAnswersToARead(t *testing.T) {
	for _, name := range []string{"403", "429", "no connection", "500 of another kind", "an error of the client"} {
		t.Run(name, func(t *testing.T) {
			tc := shown(name)
			s := newServer()
			failing := failingReads(s, tc.answer)
			_, err := ensure.Object(t.Context(), ensure.New(failing, s, fieldOwner), configMap())
			checkAnswer(t, tc, "read", err)
			require.Empty(t, s.verbs())

			created(t, s, configMap())
			_, err = ensure.Object(t.Context(), ensure.New(s.cached(hidden), failing, fieldOwner), configMap())
			checkAnswer(t, tc, "read", err)
			require.Empty(t, cmp.Diff([]string{"create"}, s.verbs()))
		})
	}
}

// What shows that an object is ours may have to be read from the server.
func TestAFailingReadIsNoSignOfAStranger(t *testing.T) {
	s := newServer(found(func(*corev1.ConfigMap) {}))
	tc := shown("429")
	e := ensure.New(s.cached(withoutManagedFields), failingReads(s, tc.answer), fieldOwner)
	_, err := ensure.Object(t.Context(), e, configMap())
	checkAnswer(t, tc, "read", err)
}

func checkAnswer(t *testing.T, tc answerCase, operation string, err error) {
	t.Helper()
	require.ErrorIs(t, err, tc.class, tc.reason)
	for _, other := range classes() {
		if other != tc.class { //nolint:errorlint // sentinels are told apart by identity
			require.NotErrorIs(t, err, other)
		}
	}
	var failed *ensure.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, operation, failed.Operation)
	require.Equal(t, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, failed.Kind)
	require.Equal(t, client.ObjectKeyFromObject(configMap()), failed.Key)
	require.Equal(t, tc.want, failed.Reason)
	require.Equal(t, tc.want, ensure.Reason(err))
	require.Empty(t, cmp.Diff(tc.paths, failed.Paths))
	require.Equal(t, "cannot "+operation+` ConfigMap "default/settings": `+tc.text, err.Error())
	require.ErrorIs(t, err, tc.answer, "what the server said is there for those who ask")

	if given := apierrors.APIStatus(nil); errors.As(tc.answer, &given) {
		var answer apierrors.APIStatus
		require.ErrorAs(t, err, &answer)
		require.Empty(t, cmp.Diff(given.Status(), answer.Status()))
	}
}

func classes() []error {
	return []error{
		ensure.ErrRefused, ensure.ErrOwnerTerminating, ensure.ErrTerminating, ensure.ErrForeign,
		ensure.ErrHidden, ensure.ErrInvalid, ensure.ErrAPI,
	}
}
