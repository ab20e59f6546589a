package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// probeLabel marks the objects that show that a webhook is in force, or that a component works. The
// value is the name of the configuration or of the component.
const probeLabel = "trueup-go.github.io/webhook-probe"

const (
	// webhookLimit bounds the time until a deleted webhook is out of force, usually a fraction of a
	// second.
	webhookLimit = 30 * time.Second
	// webhookTimeout is how many seconds the API server waits for an answer: the maximum, as this
	// process may be busy.
	webhookTimeout = 30
)

// MutatingWebhook has the API server send each request that matches one of the rules to handler,
// from the return of this function until the return of stop; one that began before stop returned may reach
// handler later. The handler runs in this process, also for dry runs, and must have no side effects. When the
// handler cannot be reached, requests fail.
//
// The MutatingWebhookConfiguration is called name and must not exist yet. The handler never gets
// this package's own probes: dry runs that create a ConfigMap in the namespace default, and the
// objects created by [Cluster.Restart].
func (c *Cluster) MutatingWebhook(
	ctx context.Context,
	name string,
	rules []admissionregistrationv1.RuleWithOperations,
	handler admission.Handler,
) (stop func() error, err error) {
	w := &webhook{cluster: c, name: name}
	if err := w.serve(handler); err != nil {
		return nil, err
	}
	if err := w.register(ctx, rules); err != nil {
		return nil, err
	}
	if err := c.until(ctx, "webhook "+name, w.inForce); err != nil {
		return nil, errors.Join(err, w.stop(ctx))
	}
	return sync.OnceValue(func() error { return w.stop(ctx) }), nil
}

// A webhook is one MutatingWebhookConfiguration and the server named there. The two entries come
// into force together: one for the handler, and one for probes only.
type webhook struct {
	cluster *Cluster
	name    string
	address string
	probes  atomic.Int64
}

const (
	handlerPath = "/handler"
	probePath   = "/probe"
)

// quiet keeps webhooks from controller-runtime's log, which prints a long warning when a program
// has not set a logger.
var quiet = admission.StandaloneOptions{Logger: logr.New(log.NullLogSink{})}

// serve starts the server. It serves until the cluster ends, as the API server asks all webhooks that were in
// force when a request began.
func (w *webhook) serve(handler admission.Handler) error {
	mux := http.NewServeMux()
	for path, handler := range map[string]admission.Handler{handlerPath: handler, probePath: admission.HandlerFunc(w.probed)} {
		answer, err := admission.StandaloneWebhook(&admission.Webhook{Handler: handler}, quiet)
		if err != nil {
			return fmt.Errorf("cannot serve webhook %s: %w", w.name, err)
		}
		mux.Handle(path, answer)
	}
	pair, err := w.cluster.authority.Server(nil, net.IPv4(127, 0, 0, 1))
	if err != nil {
		return err
	}
	certificate, err := pair.TLS()
	if err != nil {
		return fmt.Errorf("cannot serve webhook %s: %w", w.name, err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS12,
	})
	if err != nil {
		return fmt.Errorf("cannot serve webhook %s: %w", w.name, err)
	}
	w.address = listener.Addr().String()
	server := &http.Server{Handler: mux, ReadHeaderTimeout: webhookLimit}
	go func() { _ = server.Serve(listener) }() // it ends when it is closed
	go func() {
		<-w.cluster.crashed
		_ = server.Close()
	}()
	return nil
}

func (w *webhook) probed(context.Context, admission.Request) admission.Response {
	w.probes.Add(1)
	return admission.Allowed("")
}

// register makes the server known to the API server.
func (w *webhook) register(ctx context.Context, rules []admissionregistrationv1.RuleWithOperations) error {
	probeRules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	probes := metav1.LabelSelector{MatchLabels: map[string]string{probeLabel: w.name}}
	notProbes := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: probeLabel, Operator: metav1.LabelSelectorOpDoesNotExist,
	}}}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{
			w.entry(handlerPath, rules, notProbes),
			w.entry(probePath, probeRules, probes),
		},
	}
	_, err := w.cluster.clients.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, configuration, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cannot register webhook %s: %w", w.name, err)
	}
	return nil
}

func (w *webhook) entry(
	path string,
	rules []admissionregistrationv1.RuleWithOperations,
	objects metav1.LabelSelector,
) admissionregistrationv1.MutatingWebhook {
	url := "https://" + w.address + path
	fail := admissionregistrationv1.Fail
	none := admissionregistrationv1.SideEffectClassNone
	return admissionregistrationv1.MutatingWebhook{
		Name:                    path[1:] + ".trueup-go.github.io",
		ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: w.cluster.authority.Certificate},
		Rules:                   rules,
		ObjectSelector:          &objects,
		FailurePolicy:           &fail,
		SideEffects:             &none,
		TimeoutSeconds:          new(int32(webhookTimeout)),
		AdmissionReviewVersions: []string{"v1"},
	}
}

// asked reports whether the API server asks about probes.
func (w *webhook) asked(ctx context.Context) (bool, error) {
	before := w.probes.Load()
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "webhook-probe-", Labels: map[string]string{probeLabel: w.name}}}
	_, err := w.cluster.clients.CoreV1().ConfigMaps("default").Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return w.probes.Load() > before, err
}

// inForce is the condition that the API server asks.
func (w *webhook) inForce(ctx context.Context) error {
	asked, err := w.asked(ctx)
	if err == nil && !asked {
		return errors.New("the API server does not ask yet")
	}
	return err
}

// outOfForce is the condition that the API server no longer asks.
func (w *webhook) outOfForce(ctx context.Context) error {
	asked, err := w.asked(ctx)
	if err == nil && asked {
		return errors.New("the API server asks still")
	}
	return err
}

// stop removes the configuration, and waits until it is out of force.
func (w *webhook) stop(ctx context.Context) error {
	// A test that is over, or a start that took too long, still tidies up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), webhookLimit)
	defer cancel()
	configurations := w.cluster.clients.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if err := configurations.Delete(ctx, w.name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("cannot remove webhook %s: %w", w.name, err)
	}
	return w.cluster.until(ctx, "the end of webhook "+w.name, w.outOfForce)
}
