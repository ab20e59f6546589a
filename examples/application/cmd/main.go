// Application-operator reconciles Applications.
package main

import (
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/examples/application/api/v1beta1"
	"github.com/trueup-go/trueup/examples/application/internal/controller"
	"github.com/trueup-go/trueup/examples/application/internal/webhook"
	"github.com/trueup-go/trueup/examples/application/templates"
	"github.com/trueup-go/trueup/examples/internal/operator"
)

// lease is the name of the lease for leader election. config/rbac contains the same name.
const lease = "application-operator.application.sample.ibm.com"

func main() {
	operator.Exit(controller.Name, run(os.Args[1:]))
}

func run(args []string) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(v1beta1.AddToScheme(scheme))

	var children operator.Templates
	var conversion webhook.Options
	options, err := operator.ParseFlags(controller.Name, args, os.Stdout, children.AddFlags, conversion.AddFlags)
	if err != nil {
		return err
	}
	folder, err := children.Folder(templates.Files, scheme)
	if err != nil {
		return err
	}
	options.Scheme, options.LeaderElectionID, options.Cache.ByObject = scheme, lease, controller.Cached()
	options.Cache.ByObject[&apiextensionsv1.CustomResourceDefinition{}] = webhook.Cached()
	mgr, err := operator.NewManager(options)
	if err != nil {
		return err
	}
	reconciler, err := controller.New(mgr, folder, options.ChildLabels)
	if err != nil {
		return err
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	if err := webhook.SetupWithManager(ctx, mgr, controller.Name, conversion); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
