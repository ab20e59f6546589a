// Package operator has the code that the example operators share: their flags, and their manager and
// controller options.
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

// reconcileTimeout is far more than any reconcile needs, and keeps a read that waits
// for the cache to show our own write from waiting for ever.
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
	// Expected tells which of the API server's warnings are not logged. Nil is none.
	Expected func(warning string) bool
}

// NewManager returns a manager for the cluster of the kubeconfig or of the pod's environment. The
// manager writes structured logs and serves /healthz and /readyz, and its client reads its own
// writes.
func NewManager(flags *Flags, options Options) (ctrl.Manager, error) {
	logger := zap.New(zap.UseFlagOptions(&flags.zap))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) // client-go's

	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot tell which cluster: %w; outside of one set KUBECONFIG, "+
			"for example to what `make cluster-up` prints", err)
	}
	config.UserAgent = flags.name
	config.WarningHandlerWithContext = warningsBut(options.Expected)

	mgr, err := ctrl.NewManager(config, managerOptions(flags, options))
	if err != nil && flags.LeaderElect && flags.LeaderElectionNamespace == "" {
		err = fmt.Errorf("%w (outside a cluster --leader-elect needs --leader-election-namespace)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make the manager: %w", err)
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
		LeaderElectionReleaseOnCancel: true, // main ends when the manager does
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

// Exit ends the process: with 0 if err is nil or help was asked for, else with 1
// after saying why.
func Exit(name string, err error) {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(1)
}
