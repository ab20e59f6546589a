// Reverse-words-operator reconciles ReverseWordsApps.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/reversewordsapp/internal/controller"
	"github.com/trueup-go/trueup/examples/reversewordsapp/templates"
)

// lease is the name of the lease for leader election. config/rbac contains the same name.
const lease = "1ef59d40.linuxera.org"

func main() {
	operator.Exit(controller.Name, run(os.Args[1:]))
}

func run(args []string) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))

	childTemplates := operator.NewTemplates(templates.Files, scheme)
	flags, err := operator.ParseFlags(controller.Name, args, os.Stdout, childTemplates.AddFlag)
	if err != nil {
		return err
	}
	mgr, err := operator.NewManager(flags, operator.Options{
		Scheme: scheme, Lease: lease, ByObject: controller.Cached(), Expected: controller.IsExpected,
	})
	if err != nil {
		return err
	}
	reconciler, err := controller.New(mgr, childTemplates, flags.ChildLabels)
	if err != nil {
		return err
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
