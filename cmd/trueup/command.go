package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
)

// userAgent identifies the requests of this command in the audit log of the API server.
const userAgent = "trueup-explain"

const description = `Report for each object who owns which fields: every field manager, how and when it wrote,
the fields with several owners, the digests and the applies of trueup, and the writes since
the last of these. The report works for any object, of any operator. It takes one GET for
each object.

With -f, the report also shows the effect of applying the file as the field owner that
--field-manager names: a server-side dry run with force. With --migrate-from, it shows also
what ensure.MigrateFrom would do: the fields that older versions of the operator lose, and
those that stay until ensure.Retire names them.

The command changes nothing in the cluster. Values of Secrets are masked.`

const examples = `  trueup explain deployment/web
  trueup explain deploy web api -n shop --context staging
  trueup explain website.example.com/web --unowned -o json
  trueup explain -f desired.yaml --field-manager website-operator
  trueup explain -f desired.yaml --field-manager website-operator --migrate-from manager`

// newCommand returns the command that program was called as: trueup, or kubectl-trueup as a plugin of kubectl. Without
// arguments, it is a plugin of kubebuilder.
func newCommand(program string, streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:               "trueup",
		Short:             "Write operators that use trueup, and look at objects in a cluster as trueup does",
		Args:              cobra.NoArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE: func(command *cobra.Command, _ []string) error {
			if isRequest, err := servePlugin(streams); isRequest || err != nil {
				return err
			}
			return command.Help()
		},
	}
	if plugin, isPlugin := strings.CutPrefix(filepath.Base(program), "kubectl-"); isPlugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl " + plugin}
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.AddCommand(newExplain(streams), newScaffold(streams))
	return root
}

func newExplain(streams genericiooptions.IOStreams) *cobra.Command {
	warnings := newWarnings(streams.ErrOut)
	x := &explainer{cluster: clusterFlags(warnings), warnings: warnings, streams: streams}
	command := &cobra.Command{
		Use:     "explain (TYPE/NAME | TYPE NAME... | -f FILE --field-manager NAME)",
		Short:   "Report who owns which fields of an object",
		Long:    description,
		Example: examples,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := x.validate(args); err != nil {
				return err
			}
			x.layout.Now = time.Now()
			return x.run(args)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&x.format, "output", "o", "text", "the form of the report: text or json")
	flags.BoolVar(&x.layout.Expand, "expand", false, "list every field, also where a subtree belongs to one manager")
	flags.BoolVar(&x.options.Unowned, "unowned", false, "also list the fields that no manager owns, such as defaults")
	flags.BoolVar(&x.options.Mask, "mask", false, "mask the values of all kinds, not only those of Secrets, also in paths")
	flags.StringVar(&x.options.FieldManager, "field-manager", "",
		"report the last apply of this field owner, too; with -f, the one that applies the file")
	flags.StringVarP(&x.file, "filename", "f", "", "a file with desired objects, or - for the standard input")
	flags.StringSliceVar(&x.options.MigrateFrom, "migrate-from", nil,
		"with -f, report what a migration from these field managers of older versions would do")
	x.cluster.AddFlags(flags)
	return command
}

// clusterFlags returns the flags of kubectl that select a cluster, a user and a namespace.
func clusterFlags(warnings rest.WarningHandler) *genericclioptions.ConfigFlags {
	flags := genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(50)
	return flags.WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.UserAgent, config.WarningHandler = userAgent, warnings
		return config
	})
}

func (x *explainer) validate(args []string) error {
	switch {
	case x.format != "text" && x.format != "json":
		return errors.New("the output is neither text nor json: " + x.format)
	case len(x.options.MigrateFrom) > 0 && x.file == "":
		return errors.New("--migrate-from needs -f, the file with the desired objects")
	case len(x.options.MigrateFrom) > 0 && x.options.FieldManager == "":
		return errors.New("--migrate-from needs --field-manager, the field owner that migrates")
	case slices.Contains(x.options.MigrateFrom, ""):
		return errors.New("--migrate-from needs the names of managers, as metadata.managedFields has them")
	case x.file != "" && x.options.FieldManager == "":
		return errors.New("-f needs --field-manager, the field owner that applies the file")
	case x.file == "" && len(args) == 0:
		return errors.New("name an object, such as deployment/web, or a file with -f")
	}
	return nil
}
