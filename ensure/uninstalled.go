package ensure

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trueup-go/trueup/internal/answer"
)

// isUninstalled reports whether err means that the API server does not serve the kind, so that no
// object can exist. The answer is not remembered: the kind may be installed at any time.
func (t *target) isUninstalled(err error) bool {
	lacksResource := apierrors.IsNotFound(err) && len(answer.Causes(err)) > 0 // a 404 for the path
	return (lacksResource || meta.IsNoMatchError(err)) && t.isUnknownToDiscovery()
}

// endlessWait returns an error if a read that waited too long can never be answered: the cache waits
// for the first list of a kind that the API server does not serve.
func (t *target) endlessWait(operation string) error {
	if !t.isUnknownToDiscovery() {
		return nil
	}
	missing := &meta.NoKindMatchError{GroupKind: t.gvk.GroupKind(), SearchedVersions: []string{t.gvk.Version}}
	return t.requestError(operation, missing)
}

// isUnknownToDiscovery reports whether discovery answers completely now and does not list the kind in
// any version. The RESTMapper of the client asks: that of controller-runtime sends a request for each
// unknown kind. To forget a known kind, the mapper has to ask for a resource that does not exist.
//
// A group whose API server is down is listed, but its resources cannot be fetched. The mapper then
// fails, or says in its very first answer that a resource does not match, but never that a kind does
// not. A mapper that answers from a cache until a reset is not believed.
func (t *target) isUnknownToDiscovery() bool {
	mapper := t.client.RESTMapper()
	if _, caches := mapper.(meta.ResettableRESTMapper); caches || isNil(mapper) {
		return false
	}
	const nobodys = "trueup-asks-afresh"
	_, _ = mapper.ResourceFor(t.gvk.GroupVersion().WithResource(nobodys))
	// The version is asked for by itself, as the list of groups may be a second old. The mapper may
	// answer from an older list, and drops this list if one of its versions is gone: hence twice.
	for _, versions := range [][]string{{t.gvk.Version}, nil, nil} {
		_, err := mapper.RESTMapping(t.gvk.GroupKind(), versions...)
		if _, unknown := errors.AsType[*meta.NoKindMatchError](err); !unknown {
			return false
		}
	}
	return true
}
