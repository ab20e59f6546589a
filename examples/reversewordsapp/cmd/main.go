// Reverse-words-operator reconciles ReverseWordsApps.
package main

import (
	"context"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

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

	var children operator.Templates
	options, err := operator.ParseFlags(controller.Name, args, os.Stdout, children.AddFlags)
	if err != nil {
		return err
	}
	folder, err := children.Folder(templates.Files, scheme)
	if err != nil {
		return err
	}
	options.Scheme, options.LeaderElectionID, options.Cache.ByObject = scheme, lease, controller.Cached()
	options.Warnings = warnings{log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{})}
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
	return mgr.Start(ctrl.SetupSignalHandler())
}

// warnings logs the warnings of the API server, except for the warning about the name of the operator's
// finalizer, which cannot be changed.
type warnings struct{ rest.WarningHandlerWithContext }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	if !strings.HasPrefix(text, `metadata.finalizers: "`+v1alpha1.Finalizer+`": `) {
		w.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, code, agent, text)
	}
}
