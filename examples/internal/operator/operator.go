// Package operator has the code that the example operators share: flags, the manager, logs and events.
package operator

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// reconcileTimeout is much longer than a reconcile takes. Without a timeout, a read could wait forever
// for the cache to show the operator's own writes.
const reconcileTimeout = time.Minute

// Options are the settings of a manager that differ between operators.
type Options struct {
	Scheme *runtime.Scheme
	// Lease is the name of the leader election's lease.
	Lease string
	// Lock, if not nil, replaces the lease of the leader election, and enables the election.
	Lock resourcelock.Interface
	// ByObject limits the cache by kind.
	ByObject map[client.Object]cache.ByObject
	// Expected reports whether a warning of the API server is expected and need not be logged. If Expected
	// is nil, all warnings are logged.
	Expected func(warning string) bool
}

// NewManager returns a manager for the cluster of the kubeconfig, or for the cluster in which the
// operator runs. The manager writes structured logs and serves /healthz and /readyz. Its client reads
// its own writes.
func NewManager(flags *Flags, options Options) (ctrl.Manager, error) {
	logger := zap.New(zap.UseFlagOptions(&flags.zap))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) // for client-go

	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot find the configuration of a cluster: %w; outside a cluster, set KUBECONFIG, "+
			"for example to the path that `make cluster-up` prints", err)
	}
	config.UserAgent = flags.name
	config.WarningHandlerWithContext = newWarningHandler(options.Expected)

	mgr, err := ctrl.NewManager(config, managerOptions(flags, options))
	if err != nil && flags.LeaderElect && flags.LeaderElectionNamespace == "" {
		err = fmt.Errorf("%w (outside a cluster --leader-elect needs --leader-election-namespace)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot create the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if flags.WatchNamespace == "" {
		logger.Info("watching all namespaces")
	} else {
		logger.Info("watching one namespace", "namespace", flags.WatchNamespace)
	}
	return mgr, nil
}

func managerOptions(flags *Flags, options Options) ctrl.Options {
	out := ctrl.Options{
		Scheme:                        options.Scheme,
		Metrics:                       server.Options{BindAddress: flags.MetricsBindAddress},
		HealthProbeBindAddress:        flags.HealthProbeBindAddress,
		LeaderElection:                flags.LeaderElect,
		LeaderElectionID:              options.Lease,
		LeaderElectionNamespace:       flags.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true, // main returns when the manager stops
		Cache:                         cache.Options{ByObject: options.ByObject},
		Client: client.Options{
			Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)},
		},
		Controller: controllerconfig.Controller{ReconciliationTimeout: reconcileTimeout},
	}
	if options.Lock != nil {
		out.LeaderElection, out.LeaderElectionResourceLockInterface = true, options.Lock
	}
	if flags.WatchNamespace != "" {
		out.Cache.DefaultNamespaces = map[string]cache.Config{flags.WatchNamespace: {}}
	}
	return out
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
