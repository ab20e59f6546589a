package ensure_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/trueup-go/trueup/ensure"
)

// forbade is the answer of a quota or a policy.
func forbade(why string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", errors.New(why))
}

func warning(reason, action, note string) told {
	related := refersTo("v1", "ConfigMap", "settings")
	related.FieldPath = "any"
	return told{
		Regarding: refersTo("example.com/v1", "Shop", "shop"), Related: related,
		Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: note,
	}
}

// requireWarned compares all but what makes each event another one.
func (r *recorder) requireWarned(t *testing.T, why string, want ...told) {
	t.Helper()
	r.mu.Lock()
	for i := range r.told {
		if r.told[i].Type == corev1.EventTypeWarning {
			require.NotEmpty(t, r.told[i].Related.FieldPath)
			r.told[i].Related.FieldPath = "any"
		}
	}
	r.mu.Unlock()
	r.requireTold(t, why, want...)
}

// TestAFailureIsToldOnce of its sort, and again when its text changes, or once the child was as
// desired in between.
func TestAFailureIsToldOnce(t *testing.T) {
	s, r, clock := newServer(), &recorder{}, clocktesting.NewFakePassiveClock(time.Now())
	e := newEnsurer(s, ensure.WithRecorder(r), withClock(clock))
	try := func(answer error, opts ...ensure.Option) {
		t.Helper()
		clock.SetTime(clock.Now().Add(time.Hour))
		s.answers = []error{answer, answer}
		_, err := ensure.Object(t.Context(), e, configMap(), append(opts, ensure.ControlledBy(shop()))...)
		require.Equal(t, answer == nil, err == nil, "%v", err)
	}
	const cannot = `cannot create ConfigMap "default/settings": Forbidden: `

	try(forbade("ask Ann"), ensure.DryRun())
	r.requireWarned(t, "a dry run")
	try(forbade("ask Ann"))
	try(forbade("ask Ann"))
	r.requireWarned(t, "the first", warning("Forbidden", "create", cannot+"ask Ann"))
	try(status(422, metav1.StatusReasonInvalid))
	try(forbade("ask Ann"))
	r.requireWarned(t, "another sort", warning("Invalid", "create",
		`cannot create ConfigMap "default/settings": Invalid: the object {password: hunter2} was refused`))
	try(forbade("ask Bob"))
	r.requireWarned(t, "another text", warning("Forbidden", "create", cannot+"ask Bob"))
	try(status(429, metav1.StatusReasonTooManyRequests))
	try(apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "settings", errors.New("changed")))
	r.requireWarned(t, "what ends by itself")
	try(nil)
	r.requireWarned(t, "made", aboutShop("Created", ensure.Created, "created ConfigMap default/settings"))

	s.remove(t, configMap())
	try(forbade("ask Bob"))
	r.requireWarned(t, "again", warning("Forbidden", "create", cannot+"ask Bob"))
}

func TestWarningsAreTheirOwnEvents(t *testing.T) {
	s, r, clock := newServer(), &recorder{}, clocktesting.NewFakePassiveClock(time.Now())
	e := newEnsurer(s, ensure.WithRecorder(r), withClock(clock))
	paths := map[string]bool{}
	for _, why := range []string{"a", "b", "c"} {
		clock.SetTime(clock.Now().Add(time.Hour))
		s.answers = []error{forbade(why)}
		_, err := ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(shop()))
		require.Error(t, err)
		for _, event := range r.take() {
			paths[event.Related.FieldPath] = true
		}
	}
	require.Len(t, paths, 3, "client-go would keep the note of the first")
}

// TestWarningsWithoutAnOwner are about the child: one that exists, by its UID.
func TestWarningsWithoutAnOwner(t *testing.T) {
	s, r := newServer(found(func(*corev1.ConfigMap) {})), &recorder{}
	theirs := live(t, s, configMap())
	_, err := ensure.Object(t.Context(), newEnsurer(s, ensure.WithRecorder(r)), configMap())
	require.ErrorIs(t, err, ensure.ErrForeign)
	told := r.take()
	require.Len(t, told, 1)
	require.Equal(t, "Foreign", told[0].Reason)
	require.Equal(t, err.Error(), told[0].Note)
	require.Equal(t, theirs.GetUID(), told[0].Regarding.UID)
	require.Empty(t, told[0].Regarding.FieldPath)

	s = newServer()
	s.answers = []error{forbade("no")}
	_, err = ensure.Object(t.Context(), newEnsurer(s, ensure.WithRecorder(r)), configMap())
	require.Error(t, err)
	told = r.take()
	require.Equal(t, "settings", told[0].Regarding.Name)
	require.Empty(t, told[0].Regarding.UID, "it does not exist")
}

func TestWarningsOfDeletions(t *testing.T) {
	s, r := newServer(), &recorder{}
	created(t, s, configMap(), ensure.ControlledBy(shop()))
	s.answers = []error{forbade("keep it"), forbade("keep it")}
	_, err := ensure.Absent(t.Context(), newEnsurer(s, ensure.WithRecorder(r)), named(), ensure.ControlledBy(shop()))
	require.Error(t, err)
	kept := warning("Forbidden", "delete", `cannot delete ConfigMap "default/settings": Forbidden: keep it`)
	r.requireWarned(t, "absent", kept)
	s.answers = []error{forbade("keep it")}
	_, err = ensure.Set(t.Context(), newEnsurer(s, ensure.WithRecorder(r)), shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
	require.Error(t, err)
	r.requireWarned(t, "pruned", kept)
}

func TestWarningsAreMaskedAndCut(t *testing.T) {
	s, r := newServer(), &recorder{}
	s.answers = []error{status(403, metav1.StatusReasonForbidden)}
	_, err := ensure.Object(t.Context(), newEnsurer(s, ensure.WithRecorder(r), sensitiveConfigMaps()), configMap())
	require.Error(t, err)
	require.NotContains(t, r.take()[0].Note, secret)

	s.answers = []error{forbade(strings.Repeat("ö", 2000))}
	_, err = ensure.Object(t.Context(), newEnsurer(s, ensure.WithRecorder(r)), configMap())
	require.Error(t, err)
	note := r.take()[0].Note
	require.LessOrEqual(t, len(note), 1024)
	require.True(t, strings.HasSuffix(note, "ö…"))
}
