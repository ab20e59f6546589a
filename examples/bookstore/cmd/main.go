// Bookstore-operator reconciles BookStores.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/bookstore/internal/controller"
	"github.com/trueup-go/trueup/examples/bookstore/templates"
	"github.com/trueup-go/trueup/examples/internal/operator"
)

// lease is the name of the lease for leader election. config/rbac contains the same name.
const lease = "bookstore-operator.blog.velotio.com"

func main() {
	operator.Exit(controller.Name, run(os.Args[1:]))
}

func run(args []string) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))

	children, restartAfter := operator.Templates{}, time.Minute
	options, err := operator.ParseFlags(controller.Name, args, os.Stdout, children.AddFlags, func(set *flag.FlagSet) {
		set.DurationVar(&restartAfter, "restart-after", restartAfter,
			"how long a file system may wait for a resize before its pod is restarted, if spec.bookDB.restartForResize is true")
	})
	if err != nil {
		return err
	}
	if restartAfter < time.Second {
		return fmt.Errorf("--restart-after is %s: give a second at least", restartAfter)
	}
	folder, err := children.Folder(templates.Files, scheme)
	if err != nil {
		return err
	}
	options.Scheme, options.LeaderElectionID, options.Cache.ByObject = scheme, lease, controller.Cached()
	mgr, err := operator.NewManager(options)
	if err != nil {
		return err
	}
	reconciler, err := controller.New(mgr, controller.Options{
		ChildLabels: options.ChildLabels, Templates: folder, RestartAfter: restartAfter,
	})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	if err := reconciler.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
