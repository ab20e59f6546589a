package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/trueup-go/trueup/cmd/trueup/internal/scaffold"
)

const scaffoldDescription = `Replace the empty reconciler of kubebuilder by one that ensures children and reports their state in
the condition Ready, in the project in the current folder. The API gets the fields of the children,
and the test of the controller, the sample, go.mod and the Dockerfile are changed to match.

The API and its controller must exist. The command changes a controller only if it still is as
kubebuilder wrote it: otherwise, it changes nothing.`

const scaffoldExamples = `  trueup scaffold --group web --version v1 --kind Website
  trueup scaffold --group web --version v1 --kind Website --children deployment,service,configmap --finalizer`

func newScaffold(streams genericiooptions.IOStreams) *cobra.Command {
	var options scaffold.Options
	command := &cobra.Command{
		Use:     "scaffold --group GROUP --version VERSION --kind KIND",
		Short:   "Write a reconciler that uses trueup into a project of kubebuilder or operator-sdk",
		Long:    scaffoldDescription,
		Example: scaffoldExamples,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			changes, err := runScaffold(os.ReadFile, options)
			if err != nil {
				return fmt.Errorf("%w; nothing was changed", err)
			}
			for _, name := range changes.Order {
				if err := os.WriteFile(name, []byte(changes.Files[name]), 0o644); err != nil { //nolint:gosec // source code
					return err
				}
				fmt.Fprintln(streams.Out, name)
			}
			for _, kept := range changes.Kept {
				fmt.Fprintln(streams.ErrOut, kept)
			}
			fmt.Fprintln(streams.ErrOut, "next: go mod tidy && make build && go test ./internal/...")
			return nil
		},
	}
	addAPIFlags(command.Flags(), &options)
	addChildFlags(command.Flags(), &options)
	return command
}

// addAPIFlags adds the flags that name an API, as those of kubebuilder do.
func addAPIFlags(flags *pflag.FlagSet, options *scaffold.Options) {
	flags.StringVar(&options.Group, "group", "", "the group of the API, without the domain")
	flags.StringVar(&options.Version, "version", "", "the version of the API")
	flags.StringVar(&options.Kind, "kind", "", "the kind of the API")
}

// addChildFlags adds the flags that kubebuilder does not have.
func addChildFlags(flags *pflag.FlagSet, options *scaffold.Options) {
	flags.StringSliceVar(&options.Children, "children", []string{"deployment"}, "the children: deployment, service, configmap")
	flags.BoolVar(&options.Finalizer, "finalizer", false, "add a finalizer, with a function that cleans up")
}

// runScaffold returns the changes of a project, whose files read returns.
func runScaffold(read func(string) ([]byte, error), options scaffold.Options) (scaffold.Changes, error) {
	if err := checkHost(runtime.GOOS); err != nil {
		return scaffold.Changes{}, err
	}
	options.Library = libraryVersion()
	return scaffold.Run(read, options)
}

// checkHost refuses systems that kubebuilder refuses, with its words.
func checkHost(host string) error {
	if host != "linux" && host != "darwin" {
		return errors.New("host not supported: " + host)
	}
	return nil
}

// libraryVersion returns the version of the library that this program was built with, or "" if it was built in a checkout.
func libraryVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == scaffold.Library && module.Replace == nil && module.Version != "(devel)" {
			return module.Version
		}
	}
	return ""
}
