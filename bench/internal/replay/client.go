package replay

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/bench/internal/contest"
)

// newClient returns a client of controller-runtime that sends its requests to transport, and asks for no discovery.
func newClient(transport http.RoundTripper) (client.Client, error) {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for _, child := range contest.Children() {
		mapper.Add(child.Kind, apimeta.RESTScopeNamespace)
	}
	c, err := client.New(&rest.Config{Host: "http://replay.invalid", QPS: -1, UserAgent: FieldOwner}, client.Options{
		Scheme: clientgoscheme.Scheme, Mapper: mapper, HTTPClient: &http.Client{Transport: transport},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	return c, nil
}

// A Cache is a client that reads one object from memory, as the client of a manager does, and sends writes to a server.
type Cache struct {
	client.Client

	Kind schema.GroupVersionKind
	Live client.Object // nil if there is none
	// Reads is the number of reads so far.
	Reads int
}

// Get implements client.Reader, as the cache of controller-runtime does.
func (c *Cache) Get(_ context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	c.Reads++
	if c.Live == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: c.Kind.Group, Resource: c.Kind.Kind}, key.Name)
	}
	var options client.GetOptions
	options.ApplyOptions(opts)
	if options.UnsafeDisableDeepCopy != nil && *options.UnsafeDisableDeepCopy {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(c.Live).Elem())
		return nil
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(c.Live.DeepCopyObject()).Elem())
	into.GetObjectKind().SetGroupVersionKind(c.Kind)
	return nil
}
