// Package operator has the code that the example operators share: flags, the manager, and the names and
// labels of children.
package operator

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
)

// watchNamespaceEnv is the environment variable with the default of the flag --watch-namespace.
const watchNamespaceEnv = "WATCH_NAMESPACE"

// reconcileTimeout is much longer than a reconcile takes.
const reconcileTimeout = time.Minute

// syncTimeout is how long /readyz waits for the caches. The kubelet waits a second for the answer.
const syncTimeout = 200 * time.Millisecond

// Options are the options of an operator and its manager. Flags set some of them, and each operator sets
// others, such as Scheme and LeaderElectionID.
type Options struct {
	ctrl.Options

	// WatchNamespace is the only namespace that is watched; empty means all.
	WatchNamespace string
	// ChildLabels are added to every child.
	ChildLabels map[string]string
	// Warnings handles warnings of the API server. If it is nil, they are logged.
	Warnings rest.WarningHandlerWithContext

	name string
	zap  zap.Options
}

// ParseFlags parses args and the environment of the operator with that name. The functions own add the
// flags of this operator. With --help, ParseFlags writes the help to stdout and returns flag.ErrHelp.
func ParseFlags(name string, args []string, stdout io.Writer, own ...func(*flag.FlagSet)) (*Options, error) {
	options, childLabels := &Options{name: name}, ""
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard) // the caller prints errors
	set.StringVar(&options.Metrics.BindAddress, "metrics-bind-address", ":8080", "`address` that serves metrics; 0 turns them off")
	set.BoolVar(&options.Metrics.SecureServing, "metrics-secure", false,
		"serve metrics over TLS, only to clients whose token grants get on /metrics")
	set.StringVar(&options.HealthProbeBindAddress, "health-probe-bind-address", ":8081",
		"`address` that serves /healthz and /readyz; 0 turns them off")
	set.BoolVar(&options.LeaderElection, "leader-elect", false, "enable leader election: only one of several instances is active")
	set.StringVar(&options.LeaderElectionNamespace, "leader-election-namespace", "",
		"`namespace` of the leader election's lease; the default is the namespace of the operator's pod, "+
			"so this flag is required outside a cluster")
	set.StringVar(&options.WatchNamespace, "watch-namespace", os.Getenv(watchNamespaceEnv),
		"the only `namespace` to watch; empty means all. The default is the value of the environment variable "+watchNamespaceEnv)
	options.Cache.SyncPeriod = set.Duration("sync-period", 5*time.Minute,
		"`time` after which every object is reconciled again, such as one whose status somebody else wrote")
	set.StringVar(&childLabels, "child-labels", "", "`labels` for every child, as key=value,key=value")
	options.zap.BindFlags(set)
	config.RegisterFlags(set)
	for _, add := range own {
		add(set)
	}

	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		set.SetOutput(stdout)
		set.Usage()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w (see --help)", err)
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q (see --help)", set.Arg(0))
	}
	if err := options.check(childLabels); err != nil {
		return nil, err
	}
	return options, nil
}

// check parses the labels, and returns an error for an invalid namespace: the operator must not fall back
// to all namespaces. With several namespaces, the client could not read its own writes.
func (o *Options) check(childLabels string) (err error) {
	if problems := validation.IsDNS1123Label(o.WatchNamespace); o.WatchNamespace != "" && len(problems) > 0 {
		return fmt.Errorf("--watch-namespace or %s is %q, which is not the name of one namespace: %s",
			watchNamespaceEnv, o.WatchNamespace, strings.Join(problems, "; "))
	}
	if childLabels == "" {
		return nil
	}
	o.ChildLabels, err = labels.ConvertSelectorToLabelsMap(childLabels)
	switch {
	case err != nil:
		return fmt.Errorf("--child-labels is %q, which is not key=value,key=value: %w", childLabels, err)
	case len(o.ChildLabels) <= strings.Count(childLabels, ","):
		return fmt.Errorf("--child-labels is %q, which names a label twice", childLabels)
	}
	return nil
}

// NewManager returns a manager for the cluster of the kubeconfig, or for the cluster in which the
// operator runs. The manager writes structured logs and serves /healthz and /readyz. Its client reads
// its own writes, and waits for them for a few seconds at most.
func NewManager(options *Options) (ctrl.Manager, error) {
	logger := zap.New(zap.UseFlagOptions(&options.zap))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) // for client-go

	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot find the configuration of a cluster: %w; outside a cluster, set KUBECONFIG, "+
			"for example to the path that `make cluster-up` prints", err)
	}
	config.UserAgent, config.WarningHandlerWithContext = options.name, options.Warnings

	if options.WatchNamespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{options.WatchNamespace: {}}
	}
	options.Client.Cache, options.NewClient = &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}, newClient
	options.Controller.ReconciliationTimeout = reconcileTimeout
	options.LeaderElectionReleaseOnCancel = true // main returns when the manager stops
	if options.Metrics.SecureServing {
		options.Metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
		options.Metrics.TLSOpts = []func(*tls.Config){withoutHTTP2}
	}
	mgr, err := ctrl.NewManager(config, options.Options)
	if err != nil && options.LeaderElection && options.LeaderElectionNamespace == "" {
		err = fmt.Errorf("%w (outside a cluster --leader-elect needs --leader-election-namespace)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot create the manager: %w", err)
	}
	logger.Info("watching", "namespace", cmp.Or(options.WatchNamespace, "all namespaces"))
	return mgr, errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", cachesSynced(mgr.GetCache())))
}

// withoutHTTP2 turns HTTP/2 off, whose streams can exhaust a server: CVE-2023-44487 and CVE-2023-39325.
func withoutHTTP2(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }

// cachesSynced returns a check that all informers have their objects. An instance that is not the leader
// has no informers yet, and passes: it is ready to take over.
func cachesSynced(informers cache.Cache) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), syncTimeout)
		defer cancel()
		if !informers.WaitForCacheSync(ctx) {
			return errors.New("the caches are not synced")
		}
		return nil
	}
}

// Exit ends the process. The exit code is 0 if err is nil or flag.ErrHelp. Otherwise, Exit prints err,
// and the exit code is 1.
func Exit(name string, err error) {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(1)
}
