package server

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
	"github.com/trueup-go/trueup/internal/object"
)

// IsUninstalled reports whether err means that the API server does not serve the kind, so that no
// object can exist. The answer is not remembered: the kind may be installed at any time.
func (s *Session) IsUninstalled(err error) bool {
	lacksResource := apierrors.IsNotFound(err) && len(answer.Causes(err)) > 0 // a 404 for the path
	return (lacksResource || meta.IsNoMatchError(err)) && s.isUnknownToDiscovery()
}

// endlessWait returns an error if a read that waited too long can never be answered: the cache waits
// for the first list of a kind that the API server does not serve.
func (s *Session) endlessWait(operation string) error {
	if !s.isUnknownToDiscovery() {
		return nil
	}
	missing := &meta.NoKindMatchError{GroupKind: s.Child.Kind.GVK.GroupKind(), SearchedVersions: []string{s.Child.Kind.GVK.Version}}
	return s.Child.Subject.Request(operation, missing)
}

// isUnknownToDiscovery reports whether discovery answers completely now and does not list the kind in
// any version. The RESTMapper of the client asks: that of controller-runtime sends a request for each
// unknown kind. To forget a known kind, the mapper has to ask for a resource that does not exist.
//
// A group whose API server is down is listed, but its resources cannot be fetched. The mapper then
// fails, or says in its very first answer that a resource does not match, but never that a kind does
// not. A mapper that answers from a cache until a reset is not believed.
func (s *Session) isUnknownToDiscovery() bool {
	mapper := s.Client.RESTMapper()
	if _, caches := mapper.(meta.ResettableRESTMapper); caches || object.IsNil(mapper) {
		return false
	}
	_, _ = mapper.ResourceFor(s.Child.Kind.GVK.GroupVersion().WithResource("trueup-unknown"))
	// The version is asked for by itself, as the list of groups may be a second old. The mapper may
	// answer from an older list, and drops this list if one of its versions is gone: hence twice.
	for _, versions := range [][]string{{s.Child.Kind.GVK.Version}, nil, nil} {
		_, err := mapper.RESTMapping(s.Child.Kind.GVK.GroupKind(), versions...)
		if _, unknown := errors.AsType[*meta.NoKindMatchError](err); !unknown {
			return false
		}
	}
	return true
}

// ReadDefinition returns the CustomResourceDefinition of the kind, or nil if the operator may not get it.
func (s *Session) ReadDefinition(ctx context.Context) (*unstructured.Unstructured, error) {
	mapping, err := s.Client.RESTMapper().RESTMapping(s.Child.Kind.GVK.GroupKind(), s.Child.Kind.GVK.Version)
	if err != nil {
		return nil, nil //nolint:nilerr // then nothing tells
	}
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := s.begin(); err != nil {
		return nil, err
	}
	err = s.Reader.Get(ctx, client.ObjectKey{Name: mapping.Resource.Resource + "." + s.Child.Kind.GVK.Group}, definition)
	switch {
	case err == nil:
		return definition, nil
	case answer.IsFinal(err) || answer.IsGone(err):
		return nil, nil
	}
	return nil, s.Child.Subject.Request("read", err)
}
