package cookbook_test

import (
	"context"
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure"
)

// ensureCredentials ensures a Secret whose password is generated once. The password in use is that of the Result.
func ensureCredentials(ctx context.Context, e *ensure.Ensurer, shop *Shop) (ensure.Result[*corev1.Secret], error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: shop.Name + "-credentials"},
		Data: map[string][]byte{
			"user":     []byte(shop.Name),
			"password": []byte(rand.Text()), // another one in each pass
		},
	}
	return ensure.Object(ctx, e, secret, ensure.ControlledBy(shop), ensure.Once("data[password]"))
}
