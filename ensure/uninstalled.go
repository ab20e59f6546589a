package ensure

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trueup-go/trueup/internal/answer"
)

// isUninstalled reports whether err came because the API server does not serve the kind, so
// that there can be no object. Nothing of it is remembered: the kind may be installed any time.
func (c *child) isUninstalled(err error) bool {
	lacksResource := apierrors.IsNotFound(err) && len(answer.Causes(err)) > 0 // a 404 for the path
	return (lacksResource || meta.IsNoMatchError(err)) && c.isUnknownToDiscovery()
}

// endlessWait returns an error if a cache that kept a read waiting for too long can never answer:
// it waits for the first list of a kind that the API server does not serve.
func (c *child) endlessWait(operation string) error {
	if !c.isUnknownToDiscovery() {
		return nil
	}
	missing := &meta.NoKindMatchError{GroupKind: c.gvk.GroupKind(), SearchedVersions: []string{c.gvk.Version}}
	return c.requestError(operation, missing)
}

// isUnknownToDiscovery reports whether discovery, asked now, answers completely and does not list
// the kind in any version. The client's RESTMapper asks: for what it does not know, that of
// controller-runtime sends a request each time. What it does know it has to forget first, which it
// does when it asks for a resource that nobody has.
//
// A group whose API server is down is listed, but its resources cannot be fetched. The mapper then
// fails, or says in its very first answer that a resource does not match, never that a kind
// does not. A mapper that answers from a cache until it is reset is not believed.
func (c *child) isUnknownToDiscovery() bool {
	mapper := c.client.RESTMapper()
	if _, caches := mapper.(meta.ResettableRESTMapper); caches || isNil(mapper) {
		return false
	}
	const nobodys = "trueup-asks-afresh"
	_, _ = mapper.ResourceFor(c.gvk.GroupVersion().WithResource(nobodys))
	// The version is asked for itself, as the list of groups may be a second behind. The mapper
	// may answer from an older list, and drops that when a version in it is gone: hence twice.
	for _, versions := range [][]string{{c.gvk.Version}, nil, nil} {
		_, err := mapper.RESTMapping(c.gvk.GroupKind(), versions...)
		if _, unknown := errors.AsType[*meta.NoKindMatchError](err); !unknown {
			return false
		}
	}
	return true
}
