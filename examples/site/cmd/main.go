// Site-operator reconciles Sites.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trueup-go/trueup/examples/internal/operator"
	wordsv1alpha1 "github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/examples/site/internal/controller"
)

// lease is the name of the lease for leader election. config/rbac contains the same name.
const lease = "site-operator.web.example.com"

func main() {
	operator.Exit(controller.Name, run(os.Args[1:]))
}

func run(args []string) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))
	utilruntime.Must(wordsv1alpha1.AddToScheme(scheme))

	options, err := operator.ParseFlags(controller.Name, args, os.Stdout)
	if err != nil {
		return err
	}
	options.Scheme, options.LeaderElectionID, options.Cache.ByObject = scheme, lease, controller.Cached()
	mgr, err := operator.NewManager(options)
	if err != nil {
		return err
	}
	reconciler, err := controller.New(mgr, options.ChildLabels)
	if err != nil {
		return err
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
