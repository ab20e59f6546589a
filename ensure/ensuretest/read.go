package ensuretest

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type apiReader struct{ client *Client }

func (r apiReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	gvk, _ := r.client.GroupVersionKindFor(obj) // the reader itself reports an unknown kind
	at := r.client.begin(Request{Verb: verbGet, Kind: gvk, Key: key})
	err := r.client.reader.Get(ctx, key, obj, opts...)
	r.client.end(at, nil, "", err)
	return err
}

func (r apiReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	gvk, _ := r.client.GroupVersionKindFor(list) // the reader itself reports an unknown kind
	at := r.client.begin(Request{Verb: verbList, Kind: gvk, Key: client.ObjectKey{Namespace: options.Namespace}})
	err := r.client.reader.List(ctx, list, opts...)
	r.client.end(at, nil, "", err)
	return err
}
