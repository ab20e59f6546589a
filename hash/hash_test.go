package hash_test

import (
	"crypto/md5" //nolint:gosec // any algorithm will do
	"crypto/sha256"
	"errors"
	stdhash "hash"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trueup-go/trueup/hash"
)

// Digests that are stored on objects in clusters. They must never change without
// a new prefix.
func TestGoldenDigests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		obj  hash.Obj
		want string
	}{
		"full deployment":    {fullDeployment(), "v1-aad5c56bcdaeb7e9fc47f4dd5421db30"},
		"minimal deployment": {minimalDeployment(), "v1-763fd3ba85980d7cc26184db2dde38d0"},
		"config map":         {configMap(), "v1-654f17b9d7114a3b39a260e022125276"},
		"secret":             {secret(), "v1-c46b8d27fe3e279678d159e5ccc728c9"},
		"service":            {service(), "v1-41ba1ca05c126d3c776d38ed1010db7d"},
		"closed policy":      {closedPolicy(), "v1-a9dd4bbb3b87173042bba4dd1bcf777a"},
		"empty":              {&corev1.Pod{}, "v1-44136fa355b3678a1146ad16f7e8649e"},
		"unstructured":       {&unstructured.Unstructured{Object: map[string]any{"kind": "K", "spec": map[string]any{"n": int64(1)}}}, "v1-7596965693afa5fa123b474007b9ce81"},
	} {
		got, err := hash.Object(c.obj)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"nil":   {nil, "v1-74234e98afe7498fb5daf1f36ac2d78a"},
		"text":  {"text", "v1-1e1d0f251d3a76fa2b1bfc8116407857"},
		"bytes": {[]byte("text"), "v1-3f912103cfe0a630724df7038bb21120"},
		"spec":  {service().Spec, "v1-7fa56ff0b521224e44c244b855a2ce99"},
		"map":   {labels, "v1-4ea394c3a0e85faaa538726140f62eed"},
	} {
		got, err := hash.Of(c.value)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	digest, err := hash.Of(1)
	require.NoError(t, err)
	require.Regexp(t, `^v1-[0-9a-f]{32}$`, digest)
	digest, err = hash.Using(md5.New).Of(1)
	require.NoError(t, err)
	require.Equal(t, "c4ca4238a0b923820dcc509a6f75849b", digest, "md5 of the canonical form, 1")
}

func TestOfAnObjectIsObject(t *testing.T) {
	t.Parallel()
	obj := configMap()
	want, err := hash.Object(obj)
	require.NoError(t, err)
	obj.ResourceVersion = "7"
	got, err := hash.Of(obj)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	_, err := hash.Of(map[string]any{"a": make(chan int)})
	require.EqualError(t, err, "cannot digest map[string]interface {}: [a]: cannot encode a value of type chan int")
	_, err = hash.Object((*corev1.Pod)(nil))
	require.ErrorContains(t, err, "cannot digest *v1.Pod")
	_, err = hash.Object(nil)
	require.ErrorContains(t, err, "nil")
	_, err = hash.Using(nil).Of(1)
	require.ErrorContains(t, err, "cannot digest without an algorithm")
	_, err = hash.Using(func() stdhash.Hash { return nil }).Of(1)
	require.ErrorContains(t, err, "cannot digest without an algorithm")
	_, err = hash.Using(func() stdhash.Hash { return broken{} }).Of(1)
	require.ErrorIs(t, err, errBroken)
}

var errBroken = errors.New("broken")

// broken is a hash that breaks hash.Hash's promise never to fail.
type broken struct{ stdhash.Hash }

func (broken) Write([]byte) (int, error) { return 0, errBroken }
func (broken) Reset()                    {}

func TestDigesterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	digester := hash.Using(sha256.New)
	obj := fullDeployment()
	want, err := digester.Object(obj)
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, err := digester.Object(obj)
				if err != nil || got != want {
					t.Errorf("got %s, %v; want %s", got, err, want)
				}
			}
		})
	}
	group.Wait()
}

func TestStores(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	cases := map[string]struct {
		reason string
		store  hash.Store
		digest string
		want   string // in the error
	}{
		"an annotation":       {"takes any digest", hash.Annotation("example.org/x"), long, ""},
		"an annotation's key": {"is lower-cased before it is checked", hash.Annotation("Example.org/x"), "v1-0", ""},
		"a label":             {"takes 63 characters", hash.Label("example.org/x"), long[1:], ""},
		"a long label":        {"not 64", hash.Label("example.org/x"), long, `cannot store a digest of 64 characters in the label "example.org/x"`},
		"a label's value": {
			"has its own syntax",
			hash.Label("example.org/x"),
			"a=b",
			`cannot store the digest "a=b" in the label "example.org/x"`,
		},
		"no key":                      {"", hash.Annotation(""), "v1-0", `annotation ""`},
		"a key with two slashes":      {"", hash.Annotation("a/b/c"), "v1-0", `annotation "a/b/c"`},
		"a label's key":               {"", hash.Label("Example.org/x"), "v1-0", `label "Example.org/x"`},
		"an owner with a slash":       {"", hash.DefaultStore("a/b"), "v1-0", `annotation "spec-hash.trueup-go.github.io/a/b"`},
		"an owner that is long":       {"", hash.DefaultStore(long), "v1-0", long},
		"an owner that is fine":       {"", hash.DefaultStore(long[1:]), "v1-0", ""},
		"an ill-formed key to delete": {"", hash.Label("a b"), "", `label "a b"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obj := configMap()
			before := obj.DeepCopy()
			err := c.store.Set(obj, c.digest)
			if c.want != "" {
				require.ErrorContains(t, err, c.want, c.reason)
				require.Equal(t, before, obj, "it is as it was")
				require.Empty(t, c.store.Get(obj))
				return
			}
			require.NoError(t, err, c.reason)
			require.Equal(t, c.digest, c.store.Get(obj))
			require.Equal(t, before.Data, obj.Data)
			require.NoError(t, c.store.Set(obj, ""))
			require.Empty(t, c.store.Get(obj))
			require.Equal(t, before.Labels, obj.Labels)
		})
	}
}

// Objects made from one template share its maps.
func TestSetDoesNotWriteToSharedMaps(t *testing.T) {
	t.Parallel()
	shared := map[string]string{"a": "b"}
	for _, store := range []hash.Store{hash.Annotation("x"), hash.Label("x")} {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: shared, Annotations: shared}}
		require.NoError(t, store.Set(obj, "v1-0"))
		require.Equal(t, "v1-0", store.Get(obj))
		require.Equal(t, map[string]string{"a": "b"}, shared)
		require.NoError(t, store.Set(obj, ""))
		require.Empty(t, store.Get(obj))
	}
}
