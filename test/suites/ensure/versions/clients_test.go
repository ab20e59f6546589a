package versions_test

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// limit bounds waits for short operations.
const limit = time.Minute

var errStillConverts = errors.New("it is still converted")

// A cachedClient returns another state than the server's.
type cachedClient struct {
	client.Client

	show func(live client.Object) client.Object
}

func (c *cachedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.show(obj))
	if err != nil {
		return err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object = content
		return nil
	}
	*obj.(*Dial) = Dial{}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, obj)
}
