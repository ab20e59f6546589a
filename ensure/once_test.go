package ensure_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// What the API server makes of Once is tested in test/suites/ensure/once.

func TestOnceRefuses(t *testing.T) {
	cases := map[string]struct {
		path, want string
	}{
		"nothing":              {"", "is not a path"},
		"a typing error":       {"dat[password]", "there is no dat"},
		"the kind":             {"kind", "is not written by ensure"},
		"the status":           {"status.phase", "there is no status"},
		"the name":             {"metadata.name", "is neither a label nor an annotation"},
		"all labels":           {"metadata.labels", "is neither a label nor an annotation"},
		"an owner":             {"metadata.ownerReferences[uid=uid-of-shop]", "is neither a label nor an annotation"},
		"everyone's label":     {"metadata.labels[team]", "is a label of ensure.WithLabels"},
		"our digest":           {"metadata.annotations[" + digestKey + "]", "holds the digest"},
		"what is not read":     {"stringData[password]", "the API server keeps it in data"},
		"an item by its index": {"metadata.finalizers[0]", "is neither a label nor an annotation"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			e := newEnsurer(s, ensure.WithLabels(map[string]string{"team": "x"}))
			_, err := ensure.Object(t.Context(), e, credentials("app"), ensure.ControlledBy(shop()), ensure.Once("data[password]", tc.path))
			require.ErrorIs(t, err, ensure.ErrRefused)
			require.ErrorContains(t, err, tc.want)
			require.Empty(t, s.verbs())
		})
	}
}

func TestOnceWithOtherOptions(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	_, err := ensure.Object(t.Context(), e, credentials("app"), ensure.Once("data[password]"), ensure.IfMissing())
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.Empty(t, s.verbs())

	other := configMap()
	secret := credentials("app")
	results, err := ensure.Set(t.Context(), e, shop(), []client.Object{other, secret}, ensure.OnlyFor(secret, ensure.Once("data[password]")))
	require.NoError(t, err)
	require.Equal(t, secret.Data, ensure.ResultOf(results, secret).Live.Data)
	_, err = ensure.Set(t.Context(), e, shop(), []client.Object{&Shop{ObjectMeta: metav1.ObjectMeta{Name: "branch"}}, secret}, ensure.Once("data[password]"))
	require.ErrorContains(t, err, "ensure.OnlyFor gives it to one child")
}

// The digest is that of an object without what Once names, whatever that is.
func TestOnceIsNoPartOfTheDigest(t *testing.T) {
	digests := map[string]string{}
	for name, desired := range map[string]*corev1.Secret{
		"one": credentials("app"), "another": credentials("app"),
		"none": {ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "credentials"}, Data: map[string][]byte{"user": []byte("app")}},
	} {
		for _, option := range []ensure.Option{ensure.Once("data[password]"), ensure.Once("data[password]", "data[cookie]", "immutable")} {
			digests[mustEnsure(t, newEnsurer(newServer()), desired, option).Live.Annotations[digestKey]] = name
		}
		if name == "none" {
			digests[mustEnsure(t, newEnsurer(newServer()), desired).Live.Annotations[digestKey]] = name
		}
	}
	require.Len(t, digests, 1)
}

func TestOnceWithoutPathsDoesNothing(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	desired := credentials("app")
	mustEnsure(t, e, desired, ensure.Once())
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired).Operation)
	require.Equal(t, ensure.Updated, mustEnsure(t, e, credentials("app"), ensure.Once()).Operation)
	require.Empty(t, cmp.Diff([]string{"get", "create", "get", "get", "apply"}, s.verbs()))
}

// Nothing that others do to the value costs a request.
func TestOnceIsNoPartOfTheComparison(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		s := newServer()
		e := ensure.New(s.cached(faithful), s, fieldOwner)
		mustEnsure(t, e, credentials("app"), ensure.Once("data[password]"))
		s.take()
		for _, patch := range []string{`{"data":{"password":"dGhlaXJz"}}`, `{"data":{"password":null}}`} {
			s.edit(t, credentials("app"), patch)
			result := mustEnsure(t, e, credentials("app"), ensure.Once("data[password]"))
			require.Equal(t, ensure.Unchanged, result.Operation)
			if !restarts {
				require.Empty(t, s.verbs())
				continue
			}
			e = ensure.New(s.cached(faithful), s, fieldOwner)
		}
	}
}

// A dry run tells what the apply changes, and not what becomes of the managed fields.
func TestOnceInADryRun(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, credentials("app"), ensure.Once("data[password]"))
	s.take()
	result := mustEnsure(t, e, credentials("owner"), ensure.Once("data[password]"), ensure.DryRun())
	require.Equal(t, ensure.Updated, result.Operation)
	require.ElementsMatch(t, []string{"data[user]", digestPath}, paths(result.Changes))
	require.Empty(t, cmp.Diff([]string{"get", "get", "fields", "trial"}, s.verbs()))
	require.Equal(t, "app", string(live(t, s, credentials("")).Data["user"]))
}

// A patch that is refused, or an apply that is, leaves the value where it is.
func TestOnceWhenARequestFails(t *testing.T) {
	for nth := range 2 {
		s, clock := newServer(), newClock()
		e := newEnsurer(s, withClock(clock))
		first := mustEnsure(t, e, credentials("app"), ensure.Once("data[password]")).Live.Data["password"]
		s.answers = append(make([]error, nth), status(500, metav1.StatusReasonInternalError))
		_, err := ensure.Object(t.Context(), e, credentials("owner"), ensure.Once("data[password]"))
		require.ErrorIs(t, err, ensure.ErrAPI)
		require.Equal(t, first, live(t, s, credentials("")).Data["password"])
		clock.SetTime(clock.Now().Add(time.Minute))
		mustEnsure(t, e, credentials("owner"), ensure.Once("data[password]"))
		require.Equal(t, first, live(t, s, credentials("")).Data["password"])
	}
}
