package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// renewBefore is the time between the renewal and the end of a certificate. Certificates are valid for a year.
const renewBefore = 90 * 24 * time.Hour

// A certificate is served by the webhook, and trusted by the API server.
type certificate struct {
	pair tls.Certificate
	// bundle has this certificate and the one before, which another instance may still serve.
	bundle []byte
	// chain and key are pair as PEM.
	chain, key []byte
}

// newCertificate returns a certificate for host that signs itself. The API server also trusts former, in PEM.
func newCertificate(host string, former []byte) (*certificate, error) {
	chain, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot create a certificate for %s: %w", host, err)
	}
	return parseCertificate(chain, key, slices.Concat(chain, former))
}

// parseCertificate returns an error if chain and key do not belong together.
func parseCertificate(chain, key, bundle []byte) (*certificate, error) {
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, err
	}
	return &certificate{pair: pair, bundle: bundle, chain: chain, key: key}, nil
}

// renewal returns when to replace the certificate.
func (c *certificate) renewal() time.Time { return c.pair.Leaf.NotAfter.Add(-renewBefore) }

// verify returns an error if the API server would not trust the certificate of host.
func (c *certificate) verify(host string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.bundle)
	_, err := c.pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
	return err
}

// A store keeps the certificate that all instances of the operator serve in a Secret.
type store struct {
	client client.Client
	secret types.NamespacedName
	host   string
}

// bundleKey is the key of the Secret's certificates that the API server trusts.
const bundleKey = "ca.crt"

// load returns the certificate in the Secret. If the Secret is missing, or the certificate is invalid or ends soon,
// load stores a new certificate, or returns that of another instance that was faster: instances start together, and
// renew a certificate at the same time.
func (s *store) load(ctx context.Context) (current *certificate, err error) {
	wasSlower := func(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) }
	err = retry.OnError(retry.DefaultRetry, wasSlower, func() error {
		current, err = s.loadOrRenew(ctx)
		return err
	})
	return current, err
}

// loadOrRenew is load, with the error AlreadyExists or Conflict if another instance was faster.
func (s *store) loadOrRenew(ctx context.Context) (*certificate, error) {
	secret := &corev1.Secret{}
	err := s.client.Get(ctx, s.secret, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	isMissing := apierrors.IsNotFound(err)
	chain := secret.Data[corev1.TLSCertKey]
	current, err := parseCertificate(chain, secret.Data[corev1.TLSPrivateKeyKey], secret.Data[bundleKey])
	if err == nil {
		err = current.verify(s.host)
	}
	if err == nil && time.Now().Before(current.renewal()) {
		return current, nil
	}
	if err != nil {
		chain = nil // the API server would not trust an invalid certificate
	}

	renewed, err := newCertificate(s.host, chain)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{corev1.TLSCertKey: renewed.chain, corev1.TLSPrivateKeyKey: renewed.key, bundleKey: renewed.bundle}
	if isMissing {
		return renewed, s.client.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.secret.Namespace, Name: s.secret.Name},
			Type:       corev1.SecretTypeTLS,
			Data:       data,
		})
	}
	former := secret.DeepCopy()
	secret.Data = data
	return renewed, s.client.Patch(ctx, secret, client.MergeFromWithOptions(former, client.MergeFromWithOptimisticLock{}))
}
