package ensure_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// discoverer is a client with another RESTMapper.
type discoverer struct {
	client.Client
	mapper meta.RESTMapper
}

func (d discoverer) RESTMapper() meta.RESTMapper { return d.mapper }

// asking is a mapper that has nothing to reset, like that of controller-runtime.
type asking struct{ meta.RESTMapper }

// TestKindThatIsNotInstalled is about what the client's RESTMapper says; test/suites/ensure/uninstalled
// asks a real server.
func TestKindThatIsNotInstalled(t *testing.T) {
	ghost := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Ghost"}
	missing := &meta.NoKindMatchError{GroupKind: ghost.GroupKind(), SearchedVersions: []string{"v1"}}
	noPath := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "x", "404 page not found", 0, true)
	known := meta.NewDefaultRESTMapper(nil)
	known.Add(ghost, meta.RESTScopeNamespace)
	cases := map[string]struct {
		why    string
		mapper meta.RESTMapper
		answer error
		gone   bool
	}{
		"in no version":       {"there can be no object", asking{newRESTMapper()}, missing, true},
		"not served any more": {"the client knew the kind", asking{newRESTMapper()}, noPath, true},
		"there after all":     {"it came meanwhile", asking{known}, noPath, false},
		"from a cache":        {"the mapper does not ask afresh", newRESTMapper(), missing, false},
		"nobody to ask":       {"the client has no mapper", nil, missing, false},
		"another failure":     {"nothing is known", asking{newRESTMapper()}, apierrors.NewServiceUnavailable("down"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			e := ensure.New(discoverer{failingReads(s, tc.answer), tc.mapper}, failingReads(s, tc.answer), fieldOwner)
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(ghost)
			obj.SetNamespace("default")
			obj.SetName("ghost")

			absent, err := ensure.Absent(t.Context(), e, obj)
			present, errOfPresent := ensure.Object(t.Context(), e, obj, ensure.IfExists())
			if !tc.gone {
				require.ErrorIs(t, err, ensure.ErrAPI, tc.why)
				require.ErrorIs(t, errOfPresent, ensure.ErrAPI, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			require.Equal(t, ensure.Gone, absent.Operation)
			require.NoError(t, errOfPresent)
			require.Equal(t, ensure.Gone, present.Operation)
		})
	}
}
