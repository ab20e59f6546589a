// Hello-operator reconciles Hellos.
package main

import (
	"flag"
	"os"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/examples/hello/api/v1"
	"github.com/trueup-go/trueup/examples/hello/internal/controller"
)

func main() {
	options := ctrl.Options{LeaderElectionID: "hello-operator.hello.example.com"}
	flag.StringVar(&options.Metrics.BindAddress, "metrics-bind-address", ":8080", "address of the metrics; 0 turns them off")
	flag.StringVar(&options.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "address of the health probes; 0 turns them off")
	flag.BoolVar(&options.LeaderElection, "leader-elect", false, "elect one of several instances, which alone is active")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	options.Cache.ByObject = map[client.Object]cache.ByObject{ // the role permits no other ConfigMaps
		&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{controller.IndexNamespace: {}}},
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)
	exitOn(err)
	exitOn(v1.AddToScheme(mgr.GetScheme()))
	exitOn(mgr.AddHealthzCheck("healthz", healthz.Ping))
	exitOn(mgr.AddReadyzCheck("readyz", healthz.Ping))
	ensurer := ensure.New(mgr.GetClient(), mgr.GetAPIReader(), "hello-operator")
	exitOn((&controller.Reconciler{Client: mgr.GetClient(), Ensure: ensurer}).SetupWithManager(mgr))
	exitOn(mgr.Start(ctrl.SetupSignalHandler()))
}

func exitOn(err error) {
	if err != nil {
		ctrl.Log.Error(err, "the operator failed")
		os.Exit(1)
	}
}
