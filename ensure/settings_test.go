package ensure_test

import (
	"crypto/sha256"
	stdhash "hash"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ripemd160" //nolint:staticcheck // the algorithm that some operators' stored digests have
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/hash"
)

func TestNewIsJudgedByTheFirstCall(t *testing.T) {
	s := newServer()
	var noClient *wrapper
	noStore := ensure.WithDigest(hash.Default(), nil)
	empty := ensure.WithDigest(hash.Using(emptyHash), hash.Label("x"))
	long := ensure.WithDigest(hash.Using(sha256.New), hash.Label("x"))
	cases := map[string]struct {
		reason  string
		ensurer *ensure.Ensurer
		text    string
	}{
		"no client":            {"nothing could be read", ensure.New(nil, s, fieldOwner), "the client given to ensure.New is nil"},
		"nil pointer client":   {"nothing could be read", ensure.New(noClient, s, fieldOwner), "the client given to ensure.New is nil"},
		"no reader":            {"a cache could not be checked", ensure.New(s, nil, fieldOwner), "the reader given to ensure.New is nil"},
		"no field owner":       {"the server requires one", ensure.New(s, s, ""), "the field owner given to ensure.New is empty"},
		"slash":                {"no annotation name", ensure.New(s, s, "example.com/shop"), "must be 1 to 63 characters"},
		"64 characters":        {"no annotation name", ensure.New(s, s, strings.Repeat("x", 64)), "must be 1 to 63 characters"},
		"space":                {"no annotation name", ensure.New(s, s, "shop operator"), "must be 1 to 63 characters"},
		"hyphen at the end":    {"no annotation name", ensure.New(s, s, "shop-"), "must be 1 to 63 characters"},
		"no store":             {"nowhere to put digests", newEnsurer(s, noStore), "store given to ensure.WithDigest is nil"},
		"no memory":            {"0 would mean boundless", newEnsurer(s, ensure.WithMemory(0)), "needs at least 1 entry"},
		"less than no memory":  {"a negative bound", newEnsurer(s, ensure.WithMemory(-1)), "needs at least 1 entry"},
		"empty digests":        {"nothing could be told apart", newEnsurer(s, empty), "empty digests"},
		"a label for a digest": {"too long for a label", newEnsurer(s, long), "digest"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ensure.Object(t.Context(), tc.ensurer, configMap())
			require.ErrorIs(t, err, ensure.ErrRefused, tc.reason)
			require.ErrorContains(t, err, tc.text)
			require.Empty(t, s.verbs())
		})
	}
}

// emptyHash is an algorithm whose digests are empty.
func emptyHash() stdhash.Hash { return noSum{sha256.New()} }

type noSum struct{ stdhash.Hash }

func (noSum) Sum(b []byte) []byte { return b }

type wrapper struct{ client.Client }

func TestFieldOwnersThatAreTaken(t *testing.T) {
	for _, owner := range []string{"x", "Shop_Operator.v1", strings.Repeat("x", 63)} {
		s := newServer()
		_, err := ensure.Object(t.Context(), ensure.New(s, s, owner), configMap())
		require.NoError(t, err, owner)
		require.Contains(t, live(t, s, configMap()).Annotations, "spec-hash.trueup-go.github.io/"+owner)
	}
}

func TestWithLabels(t *testing.T) {
	s := newServer()
	settings := map[string]string{"team": "shops", "app": "stamped"}
	e := newEnsurer(s, ensure.WithLabels(settings))
	desired := configMap()
	desired.Labels["tier"] = "web"

	first := mustEnsure(t, e, desired)
	require.Empty(t, cmp.Diff(map[string]string{"team": "shops", "app": "stamped", "tier": "web"}, first.Live.Labels))
	require.Empty(t, cmp.Diff(map[string]string{"app": "shop", "tier": "web"}, desired.Labels), "desired is the caller's")
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, desired).Operation)

	bare := &corev1.ConfigMap{}
	bare.Namespace, bare.Name = "default", "bare"
	require.Empty(t, cmp.Diff(settings, mustEnsure(t, e, bare).Live.Labels))
	require.Nil(t, bare.Labels)

	s.edit(t, desired, `{"metadata":{"labels":{"team":null}}}`)
	result := mustEnsure(t, e, desired)
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, []string{"metadata.labels[team]"}, paths(result.Changes))
}

func TestWithLabelsIsPartOfWhatIsDesired(t *testing.T) {
	s := newServer()
	created(t, s, configMap())
	result := mustEnsure(t, newEnsurer(s, ensure.WithLabels(map[string]string{"team": "shops"})), configMap())
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, ensure.DesiredChanged, result.Cause)
}

func TestWithDigest(t *testing.T) {
	s := newServer()
	setting := ensure.WithDigest(hash.Using(ripemd160.New), hash.Label("example.com/digest"))
	first := mustEnsure(t, newEnsurer(s, setting), configMap())

	require.Regexp(t, "^[0-9a-f]{40}$", first.Live.Labels["example.com/digest"])
	require.NotContains(t, first.Live.Annotations, digestKey)
	require.Empty(t, configMap().Labels["example.com/digest"])
	s.take()

	require.Equal(t, ensure.Unchanged, mustEnsure(t, newEnsurer(s, setting), configMap()).Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))

	desired := configMap()
	desired.Data["color"] = "red"
	result := mustEnsure(t, newEnsurer(s, setting), desired)
	require.Equal(t, ensure.DesiredChanged, result.Cause)
	require.Equal(t, []string{"data[color]", "metadata.labels[example.com/digest]"}, paths(result.Changes))
}

func TestWithDigestOfAnotherFormChangesNothingElse(t *testing.T) {
	s := newServer()
	before := created(t, s, deployment())
	setting := ensure.WithDigest(hash.Using(ripemd160.New), hash.Annotation(digestKey))
	result := mustEnsure(t, newEnsurer(s, setting), deployment())

	require.Equal(t, ensure.Updated, result.Operation, "the server wrote")
	require.Equal(t, ensure.DesiredChanged, result.Cause)
	require.Equal(t, []string{digestPath}, paths(result.Changes))
	require.Empty(t, cmp.Diff(before.Spec, live(t, s, deployment()).Spec))
}

func TestDigestInDesiredIsNotBelieved(t *testing.T) {
	s := newServer()
	digest := created(t, s, configMap()).Annotations[digestKey]
	desired := configMap()
	desired.Annotations[digestKey] = "copied from somewhere"

	require.Equal(t, ensure.Unchanged, mustEnsure(t, newEnsurer(s), desired).Operation)
	require.Equal(t, digest, live(t, s, configMap()).Annotations[digestKey])
	require.Equal(t, "copied from somewhere", desired.Annotations[digestKey], "desired is the caller's")
}

func TestWithMemoryForgetsWithoutHarm(t *testing.T) {
	s := newServer()
	e := newEnsurer(s, ensure.WithMemory(1))
	other := configMap()
	other.Name = "other"
	mustEnsure(t, e, configMap())
	mustEnsure(t, e, other) // the first is forgotten now
	s.take()

	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()), "the object itself tells that it is in sync")

	s.edit(t, other, `{"data":{"color":"red"}}`)
	result := mustEnsure(t, e, other)
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, "blue", result.Live.Data["color"])
}
