// Package webhook converts Applications between versions for the API server.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
)

// Names in the cluster.
const (
	definition = "applications.application.sample.ibm.com"
	// secretSuffix is added to the name of the Service to name the Secret with the certificate.
	secretSuffix = "-certificate"
	path         = "/convert"
)

const (
	// requestTimeout is longer than the API server waits.
	requestTimeout = time.Minute
	// retryInterval is the time between two attempts to renew a certificate, which have months to succeed.
	retryInterval = time.Hour
	// trustDelay is the time after which all API servers know a changed CRD.
	trustDelay = time.Minute
	// checkTimeout is shorter than the kubelet waits for the answer.
	checkTimeout = 500 * time.Millisecond
)

// Options say where the API server reaches the webhook.
type Options struct {
	// Address is the host and port that the webhook listens on; 0 turns the webhook off. For port 0, the system
	// chooses a port.
	Address string
	// Service is the Service of the operator's pods, with the port of Address. If it is empty, the operator runs
	// outside the cluster, and the API server uses Address.
	Service types.NamespacedName
}

// AddFlags adds flags that set the options.
func (o *Options) AddFlags(set *flag.FlagSet) {
	set.StringVar(&o.Address, "webhook-bind-address", "127.0.0.1:0",
		"`address` that serves conversions between the versions of Applications; 0 turns them off. "+
			"Outside a cluster, the API server must be able to reach this address")
	set.Func("webhook-service", "`namespace/name` of the Service through which the API server reaches the operator in a cluster, "+
		"with the same port; empty outside a cluster", func(value string) error {
		namespace, name, found := strings.Cut(value, "/")
		if o.Service = (types.NamespacedName{Namespace: namespace, Name: name}); !found || namespace == "" || name == "" {
			return errors.New("not namespace/name")
		}
		return nil
	})
}

// A webhook serves conversions, and writes its address and certificate into the CRD.
type webhook struct {
	options  Options
	listener net.Listener
	ensure   *ensure.Ensurer
	// store is nil outside the cluster. The certificate then ends with the process.
	store *store
	// current is the latest certificate that the CRD names. served is the same, or for a while the one before.
	current, served atomic.Pointer[certificate]
}

// Cached limits the cache of the manager to the CRD of Applications.
func Cached() cache.ByObject {
	return cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", definition)}
}

// SetupWithManager adds a webhook to mgr, and writes the webhook into the CRD before mgr starts: the manager may need
// conversions to fill the cache. Until mgr starts, conversions wait.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, name string, options Options) error {
	if options.Address == "0" {
		return nil
	}
	direct, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return err
	}
	w := &webhook{options: options, ensure: ensure.New(direct, direct, name)}
	if w.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", options.Address); err != nil {
		return fmt.Errorf("--webhook-bind-address: %w", err)
	}
	if options.Service.Name != "" {
		w.store = &store{
			client: direct,
			secret: types.NamespacedName{Namespace: options.Service.Namespace, Name: options.Service.Name + secretSuffix},
			host:   options.Service.Name + "." + options.Service.Namespace + ".svc",
		}
	}
	if err := w.publish(ctx); err != nil {
		return fmt.Errorf("cannot set up the conversion of Applications: %w", err)
	}
	server, err := w.server(mgr.GetScheme())
	if err != nil {
		return err
	}
	if err := errors.Join(mgr.Add(server), mgr.Add(renewer{w}), mgr.AddReadyzCheck("conversion", w.check)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("conversion").
		For(&apiextensionsv1.CustomResourceDefinition{}).
		WithOptions(controller.Options{
			RateLimiter: ensure.RateLimiter(),
			// Every instance loads the certificate that another one has published.
			NeedLeaderElection: new(false),
		}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), w))
}

// server returns a server that runs on every instance, and before the manager fills its cache.
func (w *webhook) server(scheme *runtime.Scheme) (*manager.Server, error) {
	converter, err := newConverter(scheme)
	if err != nil {
		return nil, err
	}
	registry := conversion.NewRegistry()
	kind := schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "Application"}
	if err := registry.RegisterConverter(kind, converter); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(path, conversion.NewWebhookHandler(scheme, registry))
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &w.served.Load().pair, nil },
	}
	return &manager.Server{
		Name:     "conversion webhook",
		Server:   &http.Server{Handler: mux, ReadHeaderTimeout: requestTimeout},
		Listener: tls.NewListener(w.listener, config),
	}, nil
}

// Reconcile needs these permissions. The operator creates and renews the Secret in its own namespace.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=applications.application.sample.ibm.com,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=get;create;patch

// Reconcile writes the webhook into the CRD again. Outside a cluster, each instance has its own address, and the instance
// that has started last serves the conversions: Reconcile leaves the certificate of another instance alone.
func (w *webhook) Reconcile(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (reconcile.Result, error) {
	if w.store == nil && crd.Spec.Conversion != nil && crd.Spec.Conversion.Webhook != nil {
		trusted := crd.Spec.Conversion.Webhook.ClientConfig.CABundle
		if len(trusted) > 0 && !bytes.Equal(trusted, w.current.Load().bundle) {
			return reconcile.Result{}, nil
		}
	}
	return ensure.Retry(ctx, w.publish(ctx))
}

// publish has the API server trust the current certificate before the webhook serves it.
func (w *webhook) publish(ctx context.Context) error {
	current, err := w.certificate(ctx)
	if err != nil {
		return err
	}
	desired := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiextensionsv1.SchemeGroupVersion.String(),
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": definition},
		"spec": map[string]any{"conversion": map[string]any{
			"strategy": string(apiextensionsv1.WebhookConverter),
			"webhook": map[string]any{
				"clientConfig":             w.clientConfig(current),
				"conversionReviewVersions": []any{"v1"},
			},
		}},
	}}
	if _, err := ensure.Object(ctx, w.ensure, desired, ensure.IfExists(), ensure.Adopt()); err != nil {
		return err
	}
	w.serve(current)
	return nil
}

// serve has the webhook serve a certificate that is in the CRD. An API server may not know the CRD yet: as long as the
// CRD also has the certificate that is being served, the new one waits.
func (w *webhook) serve(latest *certificate) {
	if former := w.current.Swap(latest); former != nil && bytes.Equal(former.chain, latest.chain) {
		return
	}
	served := w.served.Load()
	if served == nil || !bytes.Contains(latest.bundle, served.chain) {
		w.served.Store(latest)
		return
	}
	time.AfterFunc(trustDelay, func() { w.served.Store(w.current.Load()) })
}

// check returns an error if the webhook does not answer. The check does not depend on the caches: if Applications are
// stored in v1beta1, an operator fills its caches only after a conversion by a webhook that is ready.
func (w *webhook) check(request *http.Request) error {
	ctx, cancel := context.WithTimeout(request.Context(), checkTimeout)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it asks itself
	connection, err := dialer.DialContext(ctx, "tcp", w.listener.Addr().String())
	if err != nil {
		return err
	}
	return connection.Close()
}

// clientConfig tells the API server where the webhook is, and which certificates to trust.
func (w *webhook) clientConfig(current *certificate) map[string]any {
	config := map[string]any{"caBundle": base64.StdEncoding.EncodeToString(current.bundle)}
	if w.store == nil {
		config["url"] = "https://" + w.listener.Addr().String() + path
		return config
	}
	config["service"] = map[string]any{
		"namespace": w.options.Service.Namespace,
		"name":      w.options.Service.Name,
		"path":      path,
		"port":      int64(w.listener.Addr().(*net.TCPAddr).Port),
	}
	return config
}

// certificate returns the certificate to serve.
func (w *webhook) certificate(ctx context.Context) (*certificate, error) {
	if w.store != nil {
		return w.store.load(ctx)
	}
	current := w.current.Load()
	if current != nil && time.Now().Before(current.renewal()) {
		return current, nil
	}
	var former []byte
	if current != nil {
		former = current.chain
	}
	host, _, err := net.SplitHostPort(w.listener.Addr().String())
	if err != nil {
		return nil, err
	}
	return newCertificate(host, former)
}

// A renewer renews the certificate of an instance before it ends. If another instance has renewed the certificate in
// the Secret, the renewer loads that certificate.
type renewer struct{ *webhook }

// Start runs until ctx is done.
func (r renewer) Start(ctx context.Context) error {
	for wait := time.Until(r.current.Load().renewal()); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		if err := r.publish(ctx); err != nil {
			logf.FromContext(ctx).Error(err, "cannot renew the certificate of the conversion webhook")
		}
		wait = max(time.Until(r.current.Load().renewal()), retryInterval)
	}
}

// NeedLeaderElection returns false: every instance serves conversions.
func (renewer) NeedLeaderElection() bool { return false }
