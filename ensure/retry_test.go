package ensure_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
)

const (
	conflictDelay = 100 * time.Millisecond
	goingDelay    = 5 * time.Second
	failureDelay  = 5 * time.Second
	personDelay   = 2 * time.Minute
	terminalDelay = 5 * time.Minute
)

// errorOf is the error of a pass over s.
func errorOf(t *testing.T, s *apiServer, desired *corev1.ConfigMap, opts ...ensure.Option) error {
	t.Helper()
	_, err := ensure.Object(t.Context(), newEnsurer(s), desired, opts...)
	require.Error(t, err)
	return err
}

func answered(t *testing.T, answers ...error) error {
	t.Helper()
	s := newServer()
	s.answers = answers
	return errorOf(t, s, configMap())
}

func TestRetryAndReason(t *testing.T) {
	goingOwner := shop()
	goingOwner.DeletionTimestamp = new(metav1.Now())
	namespaceGoing := status(403, "Forbidden", cause("NamespaceTerminating", ""))
	invalid := status(422, metav1.StatusReasonInvalid)
	stranger := newServer(found(func(*corev1.ConfigMap) {}))
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	contested := a.said
	a.wait(time.Second)
	_, later := a.pass(configMap())
	owned := errorOf(t, newServer(), configMap(), ensure.ControlledBy(goingOwner))
	cases := map[string]struct {
		why    string
		err    error
		after  time.Duration // 0: the error is handed on
		reason string
	}{
		"conflict":        {"the other writer is done soon", answered(t, conflict(), conflict()), conflictDelay, "Conflict"},
		"going":           {"deletion takes its time", answered(t, namespaceGoing), goingDelay, "Terminating"},
		"owner going":     {"so does the owner's", owned, goingDelay, "OwnerTerminating"},
		"refused":         {"the code has to change", errorOf(t, newServer(), &corev1.ConfigMap{}), personDelay, "Refused"},
		"invalid":         {"somebody has to change the input", answered(t, invalid), failureDelay, "Invalid"},
		"foreign":         {"somebody has to decide", errorOf(t, stranger, configMap()), failureDelay, "Foreign"},
		"contested":       {"the next try", contested, 10 * time.Second, "Contested"},
		"still so":        {"when it may be over", later, 19 * time.Second, "Contested"},
		"nothing known":   {"the mere class", ensure.ErrContested, time.Second, "Unavailable"},
		"forbidden":       {"somebody has to act", answered(t, status(403, metav1.StatusReasonForbidden)), failureDelay, "Forbidden"},
		"no connection":   {"it may be back soon", answered(t, errors.New("no route")), failureDelay, "Unavailable"},
		"another's":       {"not an error of ensure", errors.New("something else"), 0, "Unavailable"},
		"another's 409":   {"a status write's, say", conflict(), conflictDelay, "Conflict"},
		"a webhook's 409": {"no conflict of writers", quoting(`admission webhook "x.example.com" denied the request`, 409, metav1.StatusReasonConflict), 0, "Conflict"},
		"another's 404":   {"the server's reason", apierrors.NewNotFound(schema.GroupResource{}, "x"), 0, "NotFound"},
		"deadline":        {"a reconcile took too long", context.DeadlineExceeded, 0, "Unavailable"},
		"no known words":  {"a reason that no condition takes", status(418, "I'm a teapot"), 0, "Unavailable"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{tc.err, fmt.Errorf("cannot make the shop: %w", tc.err)} {
				require.Equal(t, tc.reason, ensure.Reason(err), tc.why)
				result, retry := ensure.Retry(log.IntoContext(t.Context(), logr.Discard()), err)
				if tc.after == 0 {
					require.Equal(t, err, retry, "the very same error, for the log")
					require.Zero(t, result)
					continue
				}
				require.NoError(t, retry, "the controller would log it and back off")
				require.Empty(t, cmp.Diff(reconcile.Result{RequeueAfter: tc.after}, result))
			}
		})
	}
}

func TestRetryOfAHiddenChild(t *testing.T) {
	s := newServer()
	clock := newClock()
	created(t, s, configMap())
	e := ensure.New(s.cached(hidden), s, fieldOwner, withClock(clock))
	mustEnsure(t, e, configMap())
	clock.SetTime(clock.Now().Add(2 * time.Minute))
	_, err := ensure.Object(t.Context(), e, configMap())
	require.ErrorIs(t, err, ensure.ErrHidden)
	result, retry := ensure.Retry(t.Context(), err)
	require.NoError(t, retry)
	require.Equal(t, failureDelay, result.RequeueAfter, "each look takes a request")
}

// Of several errors the one that the controller has to log decides, else the soonest.
func TestRetryOfJoinedErrors(t *testing.T) {
	refused := errorOf(t, newServer(), &corev1.ConfigMap{})
	failed := errors.New("no route")
	for _, joined := range []error{errors.Join(refused, failed), errors.Join(failed, conflict())} {
		_, err := ensure.Retry(t.Context(), joined)
		require.Equal(t, joined, err)
	}
	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	contested := a.said
	result, err := ensure.Retry(t.Context(), errors.Join(refused, contested))
	require.NoError(t, err)
	require.Equal(t, contested.After, result.RequeueAfter)
	result, err = ensure.Retry(t.Context(), fmt.Errorf("both: %w", errors.Join(refused, conflict())))
	require.NoError(t, err)
	require.Equal(t, conflictDelay, result.RequeueAfter)
}

// Errors that need no retry do not hide those that do, in any order and however they are joined.
func TestRetryIgnoresJoinedErrorsThatNeedNone(t *testing.T) {
	foreign := errorOf(t, newServer(found(func(*corev1.ConfigMap) {})), configMap())
	cancelled := fmt.Errorf("cannot write the status: %w", context.Canceled)
	failed := errors.New("no route")
	for name, join := range map[string]func(...error) error{
		"joined":          errors.Join,
		"an aggregate":    func(errs ...error) error { return utilerrors.NewAggregate(errs) },
		"wrapped":         func(errs ...error) error { return fmt.Errorf("both: %w", errors.Join(errs...)) },
		"by verbs":        func(errs ...error) error { return fmt.Errorf("%w, %w", errs[0], errs[1]) },
		"nested":          func(errs ...error) error { return errors.Join(context.Canceled, errors.Join(errs...)) },
		"nested and last": func(errs ...error) error { return errors.Join(errors.Join(errs...), context.Canceled) },
		"with nothing":    func(errs ...error) error { return errors.Join(errors.Join(errs...), nothingError{}) },
		"of two sorts":    func(errs ...error) error { return utilerrors.NewAggregate([]error{errors.Join(errs...)}) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range []func(error) error{
				func(err error) error { return join(err, cancelled) },
				func(err error) error { return join(cancelled, err) },
			} {
				result, err := ensure.Retry(t.Context(), order(foreign))
				require.NoError(t, err)
				require.Equal(t, failureDelay, result.RequeueAfter)

				result, err = ensure.Retry(t.Context(), order(conflict()))
				require.NoError(t, err)
				require.Equal(t, conflictDelay, result.RequeueAfter)

				_, err = ensure.Retry(t.Context(), order(failed))
				require.ErrorIs(t, err, failed)

				result, err = ensure.Retry(t.Context(), order(cancelled))
				require.NoError(t, err)
				require.Zero(t, result)
			}
		})
	}
}

// nothingError has a nil among its errors, as a library's own type may.
type nothingError struct{}

func (nothingError) Error() string { return "nothing" }

func (nothingError) Unwrap() []error { return []error{nil} }

// At shutdown a failed reconcile is nothing to log.
func TestRetryOfACancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newServer()
	s.answers = []error{context.Canceled}
	_, err := ensure.Object(ctx, newEnsurer(s), configMap())
	require.ErrorIs(t, err, context.Canceled)
	result, retry := ensure.Retry(t.Context(), err)
	require.NoError(t, retry)
	require.Zero(t, result)
	require.Equal(t, "Unavailable", ensure.Reason(err))
}

func TestRetryAndReasonOfNoError(t *testing.T) {
	result, err := ensure.Retry(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, result)
	require.Empty(t, ensure.Reason(nil))
}

// An operator's own refusal of a spec is logged and looked at again, whatever it is wrapped in
// or joined with.
func TestRetryOfATerminalError(t *testing.T) {
	refused := errors.New("the size is negative")
	for name, tc := range map[string]struct {
		err     error
		after   time.Duration
		message string
	}{
		"alone":           {reconcile.TerminalError(refused), terminalDelay, "terminal error: the size is negative"},
		"wrapped":         {fmt.Errorf("spec: %w", reconcile.TerminalError(refused)), terminalDelay, "spec: terminal error: the size is negative"},
		"of joined ones":  {reconcile.TerminalError(errors.Join(refused, conflict())), terminalDelay, "the size is negative"},
		"with a conflict": {errors.Join(reconcile.TerminalError(refused), conflict()), conflictDelay, "the size is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			result, logged, err := retry(t, tc.err)
			require.NoError(t, err)
			require.Equal(t, tc.after, result.RequeueAfter)
			require.Contains(t, logged, tc.message)
		})
	}
	failed := &url.Error{Op: "Patch", URL: "https://server", Err: errors.New("no route")}
	_, logged, err := retry(t, errors.Join(reconcile.TerminalError(refused), failed))
	require.EqualError(t, err, "terminal error: the size is negative\nPatch \"https://server\": no route")
	require.Empty(t, logged, "the controller logs it")
	require.NotErrorIs(t, err, reconcile.TerminalError(nil), "a controller does not retry a terminal error")
	require.ErrorIs(t, err, failed)
	var found *url.Error
	require.ErrorAs(t, err, &found)
}

// What the controller does not get is logged, once.
func TestRetryLogsWhatTheControllerDoesNot(t *testing.T) {
	s := newTroubled(t)
	s.refuse(status(403, metav1.StatusReasonForbidden))
	pass := func() string {
		_, err := ensure.Object(t.Context(), s.e, configMap())
		_, logged, err := retry(t, err)
		require.NoError(t, err)
		return logged
	}
	require.Contains(t, pass(), `"level"=0 "msg"="cannot reconcile" "reason"="Forbidden" "message"="cannot create ConfigMap`)
	require.Empty(t, pass(), "the answer is known")
	s.wait(5 * time.Second)
	require.NotEmpty(t, pass())

	s = newTroubled(t)
	s.refuse(conflict())
	require.Empty(t, pass())
	require.Empty(t, pass(), "it is settled soon, as a rule")
	require.Contains(t, pass(), `"reason"="Conflict"`, "this one is not")
	require.Empty(t, pass())

	a := newArena(t, faithful)
	a.begin(configMap(), a.paint)
	_, logged, _ := retry(t, a.said)
	require.Contains(t, logged, "Contested")
	_, later := a.pass(configMap())
	_, logged, _ = retry(t, later)
	require.Empty(t, logged)
}

// What no request finds out is logged once, too.
func TestRetryLogsAForeignChildOnce(t *testing.T) {
	s := newServer(found(func(o *corev1.ConfigMap) {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "boss", UID: "2", Controller: new(true)}}
	}))
	e := ensure.New(s.cached(faithful), s, fieldOwner)
	for i := range 3 {
		_, err := ensure.Object(t.Context(), e, configMap())
		require.ErrorIs(t, err, ensure.ErrForeign)
		result, logged, err := retry(t, err)
		require.NoError(t, err)
		require.Equal(t, personDelay, result.RequeueAfter)
		require.Equal(t, i == 0, logged != "", logged)
	}
}

// An event that ends a stale result may not come.
func TestRetryOfAStaleResult(t *testing.T) {
	stale, fresh := ensure.Result[*corev1.ConfigMap]{Stale: true}, ensure.Result[*corev1.ConfigMap]{}
	of := func(result ensure.Result[*corev1.ConfigMap]) ensure.Results {
		return ensure.Results{Children: []ensure.Result[client.Object]{{}, {Stale: result.Stale}}}
	}
	foreign := errorOf(t, newServer(found(func(*corev1.ConfigMap) {})), configMap())
	result, err := ensure.Retry(t.Context(), nil, fresh, of(fresh))
	require.NoError(t, err)
	require.Zero(t, result)
	result, err = ensure.Retry(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, result, "a stale result that is not passed is not known")
	for _, err := range []error{nil, foreign} {
		result, err := ensure.Retry(t.Context(), err, fresh, stale)
		require.NoError(t, err)
		require.Equal(t, time.Second, result.RequeueAfter)
		result, err = ensure.Retry(t.Context(), err, of(stale), fresh)
		require.NoError(t, err)
		require.Equal(t, time.Second, result.RequeueAfter)
	}
	result, err = ensure.Retry(t.Context(), conflict(), stale)
	require.NoError(t, err)
	require.Equal(t, conflictDelay, result.RequeueAfter)
	_, err = ensure.Retry(t.Context(), errors.New("no route"), stale)
	require.EqualError(t, err, "no route")
}

// retry returns what was logged, too.
func retry(t *testing.T, err error) (reconcile.Result, string, error) {
	t.Helper()
	var logged strings.Builder
	logger := funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{})
	result, err := ensure.Retry(log.IntoContext(t.Context(), logger), err)
	return result, logged.String(), err
}

func TestRateLimiter(t *testing.T) {
	limiter := ensure.RateLimiter()
	failing := reconcile.Request{NamespacedName: types.NamespacedName{Name: "failing"}}
	var waits []time.Duration
	for range 8 {
		waits = append(waits, limiter.When(failing))
	}
	require.Empty(t, cmp.Diff(seconds(5, 10, 20, 40, 80, 160, 300, 300), waits))
	require.Equal(t, 5*time.Second, limiter.When(reconcile.Request{}), "another is not held up")
}
