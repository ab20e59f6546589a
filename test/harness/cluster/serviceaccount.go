package cluster

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// tokenLife is longer than any test runs.
const tokenLife = 24 * time.Hour

// ServiceAccount returns a configuration for a ServiceAccount, which is created if missing. The
// configuration has a token that is valid for 24 hours, only the rights that RBAC grants, and no
// client-side rate limit. In [Cluster.Requests] the user is system:serviceaccount:NAMESPACE:NAME.
func (c *Cluster) ServiceAccount(ctx context.Context, namespace, name string) (*rest.Config, error) {
	return ServiceAccount(ctx, c.clients, c.anonymousConfig(), namespace, name)
}

// ServiceAccount is [Cluster.ServiceAccount] for any cluster. The clients are those of an administrator, and anonymous is
// the configuration without credentials, to which the token is added.
func ServiceAccount(
	ctx context.Context, clients kubernetes.Interface, anonymous *rest.Config, namespace, name string,
) (*rest.Config, error) {
	accounts := clients.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("cannot create ServiceAccount %s/%s: %w", namespace, name, err)
	}
	seconds := int64(tokenLife / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	granted, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot get a token for ServiceAccount %s/%s: %w", namespace, name, err)
	}
	config := rest.CopyConfig(anonymous)
	config.BearerToken = granted.Status.Token
	return config, nil
}
