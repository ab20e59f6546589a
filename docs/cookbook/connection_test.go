package cookbook_test

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// ensureConnection ensures a Secret with a password that is generated once, and a URL with the password in use. c and
// server are mgr.GetClient() and mgr.GetAPIReader().
func ensureConnection(
	ctx context.Context, e *ensure.Ensurer, c client.Client, server client.Reader, shop *Shop,
) (ensure.Result[*corev1.Secret], error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.Name + "-connection"},
		Data:       map[string][]byte{"password": []byte(rand.Text())},
	}
	live := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKeyFromObject(secret), live)
	if apierrors.IsNotFound(err) { // the cache may be outdated, or filtered
		err = server.Get(ctx, client.ObjectKeyFromObject(secret), live)
	}
	if client.IgnoreNotFound(err) != nil {
		return ensure.Result[*corev1.Secret]{}, err
	}
	if password, ok := live.Data["password"]; ok {
		secret.Data["password"] = password
	}
	secret.Data["url"] = fmt.Appendf(nil, "amqp://%s:%s@queue/", shop.Name, secret.Data["password"])
	return ensure.Object(ctx, e, secret, ensure.ControlledBy(shop), ensure.Once("data[password]"))
}
