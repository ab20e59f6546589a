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

// ensureConnection ensures a Secret with a password that is generated once, and again after somebody removed it, and a URL
// with the password in use. c and server are mgr.GetClient() and mgr.GetAPIReader().
func ensureConnection(
	ctx context.Context, e *ensure.Ensurer, c client.Client, server client.Reader, shop *Shop,
) (ensure.Result[*corev1.Secret], error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.Name + "-connection"},
		Data:       map[string][]byte{"password": []byte(rand.Text())},
	}
	key := client.ObjectKeyFromObject(secret)
	live := &corev1.Secret{}
	err := c.Get(ctx, key, live)
	if apierrors.IsNotFound(err) || err == nil && live.Data["password"] == nil { // the cache may be outdated, or filtered
		live = &corev1.Secret{}
		err = server.Get(ctx, key, live)
	}
	if client.IgnoreNotFound(err) != nil {
		return ensure.Result[*corev1.Secret]{}, err
	}
	options := []ensure.Option{ensure.ControlledBy(shop)}
	password, isThere := live.Data["password"]
	if isThere {
		secret.Data["password"] = password
	}
	if isThere || live.UID == "" { // otherwise, somebody removed the password: this call writes another one
		options = append(options, ensure.Once("data[password]"))
	}
	secret.Data["url"] = fmt.Appendf(nil, "amqp://%s:%s@queue/", shop.Name, secret.Data["password"])
	return ensure.Object(ctx, e, secret, options...)
}
