package application_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/api/v1beta1"
	"github.com/trueup-go/trueup/test/harness/longform"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// Instances are two operators behind a Service, as installed. They have the same port, at addresses of their own.
type instances struct {
	service  types.NamespacedName
	balancer *balancer
	all      []instance
}

type instance struct {
	*operator.Process
	address string
}

// startInstances starts both at once, and returns when both are ready as the kubelet sees it. The Secret is the first
// that they find; nil means none.
func startInstances(t *testing.T, service types.NamespacedName, secret *corev1.Secret) *instances {
	t.Helper()
	kubectl(t, "delete", "secret", "-n", service.Namespace, service.Name+"-certificate", "--ignore-not-found")
	if secret != nil {
		require.NoError(t, admin(t).Create(t.Context(), secret))
	}
	o, s := installed(t), &instances{service: service, balancer: newBalancer(t)}
	for _, host := range []string{"127.0.0.2", "127.0.0.3"} {
		address := net.JoinHostPort(host, s.balancer.port)
		process, err := o.Run("--leader-elect", "--leader-election-namespace", o.Namespace,
			"--webhook-bind-address="+address, "--webhook-service="+service.String())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, process.Stop()) })
		s.all = append(s.all, instance{process, address})
	}
	for _, one := range s.all {
		eventually(t, func(ctx context.Context) error {
			code, err := one.Probe(ctx, "/readyz/conversion")
			return errors.Join(err, expect(code == http.StatusOK, "not ready: %d\n%s", code, one.Log()))
		})
	}
	s.balancer.lead(s.all[0].address, s.all[1].address)
	return s
}

// leaderFirst returns the active instance, and the one that waits.
func (s *instances) leaderFirst(t *testing.T) (leader, follower instance) {
	t.Helper()
	eventually(t, func(context.Context) error {
		i := slices.IndexFunc(s.all, instance.leads)
		if i < 0 {
			return errors.New("nobody leads")
		}
		leader, follower = s.all[i], s.all[1-i]
		return nil
	})
	return leader, follower
}

func (i instance) leads() bool {
	return slices.ContainsFunc(i.Entries("Starting workers"), func(entry operator.Entry) bool {
		return entry.Text("controller") == "application"
	})
}

// serves returns an error if the instance has a certificate that clients with this bundle do not trust.
func (s *instances) serves(ctx context.Context, one instance, bundle []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: s.service.Name + "." + s.service.Namespace + ".svc"}}
	connection, err := dialer.DialContext(ctx, "tcp", one.address)
	if err != nil {
		return fmt.Errorf("%s: %w", one.address, err)
	}
	return connection.Close()
}

// bothRead reads the Application in both versions.
func (f fixture) bothRead(ctx context.Context) error {
	c, err := tests.Client()
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(f.named())
	return errors.Join(c.Get(ctx, key, &v1alpha1.Application{}), c.Get(ctx, key, &v1beta1.Application{}))
}

// TestTwoInstances starts two operators together, without a certificate, and kills the leader. The API server trusts the
// certificate of both, and the one that is left converts Applications before it leads, too.
func TestTwoInstances(t *testing.T) {
	longform.Only(t)
	s := startInstances(t, useService(t), nil)
	leader, follower := s.leaderFirst(t)
	f := newFixture(t, leader.Process)
	for _, one := range s.all {
		require.NoError(t, s.serves(t.Context(), one, definition(t).Spec.Conversion.Webhook.ClientConfig.CABundle))
		s.balancer.lead(one.address)
		eventually(t, f.bothRead)
	}

	s.balancer.lead(follower.address)
	require.NoError(t, leader.Kill())
	eventually(t, f.bothRead) // the connection to the leader has ended
	require.False(t, follower.leads(), "the lease has not ended yet")
	eventually(t, func(ctx context.Context) error {
		require.NoError(t, f.bothRead(ctx))
		return expect(follower.leads(), "it does not take over:\n%s", follower.Log())
	})
	f.operator = follower.Process
	f.change(t, `{"title":"Universe"}`)
	f.settle(t)
	require.NoError(t, f.bothRead(t.Context()))
}

// TestRenewal has two operators renew their certificate at the same time. They serve the former one until all API
// servers know the new one, and conversions never fail.
func TestRenewal(t *testing.T) {
	longform.Only(t)
	const renewBefore = 90 * 24 * time.Hour
	service := useService(t)
	former := expiring(t, service.Name+"."+service.Namespace+".svc", renewBefore+30*time.Second)
	s := startInstances(t, service, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name + "-certificate"},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey: former.chain, corev1.TLSPrivateKeyKey: former.key, "ca.crt": former.bundle,
		},
	})
	leader, _ := s.leaderFirst(t)
	f := newFixture(t, leader.Process)
	bundle := func() []byte { return definition(t).Spec.Conversion.Webhook.ClientConfig.CABundle }
	require.Equal(t, former.bundle, bundle(), "the test has begun too late")

	eventually(t, func(ctx context.Context) error {
		require.NoError(t, f.bothRead(ctx))
		return expect(len(bundle()) > len(former.bundle), "not renewed")
	})
	for _, one := range s.all {
		require.NoError(t, s.serves(t.Context(), one, former.bundle), "an API server may know only the former one")
	}
	renewed := bundle()[:len(bundle())-len(former.chain)]
	eventually(t, func(ctx context.Context) error {
		require.NoError(t, f.bothRead(ctx))
		return errors.Join(s.serves(ctx, s.all[0], renewed), s.serves(ctx, s.all[1], renewed))
	})
	for _, one := range s.all {
		s.balancer.lead(one.address)
		eventually(t, f.bothRead)
		require.NotContains(t, one.Log(), "cannot renew", "one of both is slower")
	}
}

// A balancer is to the instances what kube-proxy is to the pods of a Service: each connection leads to the next one.
type balancer struct {
	port     string
	listener net.Listener

	mu          sync.Mutex
	addresses   []string
	connections []net.Conn
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &balancer{listener: listener, port: strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)}
	go b.accept()
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		b.lead()
	})
	return b
}

// lead has new connections lead to these addresses, and ends the others.
func (b *balancer) lead(addresses ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, connection := range b.connections {
		_ = connection.Close() // it may have ended
	}
	b.addresses, b.connections = addresses, nil
}

func (b *balancer) accept() {
	for {
		connection, err := b.listener.Accept()
		if err != nil {
			return // it is closed
		}
		go b.forward(connection)
	}
}

func (b *balancer) forward(from net.Conn) {
	to, err := b.dial(from)
	if err != nil {
		_ = from.Close()
		return
	}
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
	_ = from.Close()
}

// dial connects to the next address.
func (b *balancer) dial(from net.Conn) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.addresses) == 0 {
		return nil, errors.New("there is no instance")
	}
	b.addresses = append(b.addresses[1:], b.addresses[0])
	to, err := net.Dial("tcp", b.addresses[0]) //nolint:noctx // to this machine
	if err == nil {
		b.connections = append(b.connections, from, to)
	}
	return to, err
}
