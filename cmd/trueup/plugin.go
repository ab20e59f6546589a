package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/trueup-go/trueup/cmd/trueup/internal/scaffold"
)

const pluginExample = `  kubebuilder create api --group web --version v1 --kind Website --resource --controller --plugins go/v4,trueup/v1`

// A pluginRequest is what kubebuilder sends to an external plugin on the standard input. It has also the configuration of
// the project since v4.10, which the file PROJECT of the universe has in all versions.
type pluginRequest struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	// Universe has the files of the project by their paths, with those in .git and bin.
	Universe map[string]string `json:"universe"`
}

// A pluginResponse is all that a plugin may print.
type pluginResponse struct {
	APIVersion string         `json:"apiVersion"`
	Command    string         `json:"command"`
	Metadata   pluginMetadata `json:"metadata"`
	// Universe has the files that change, and no others: kubebuilder writes each, and JSON breaks those that are not UTF-8.
	Universe  map[string]string `json:"universe"`
	Error     bool              `json:"error,omitempty"`
	ErrorMsgs []string          `json:"errorMsgs,omitempty"`
	Flags     []pluginFlag      `json:"flags,omitempty"`
}

// The names of kubebuilder's types, which have no tags.
type (
	pluginMetadata struct{ Description, Examples string }
	pluginFlag     struct{ Name, Type, Default, Usage string }
)

// servePlugin answers a request of kubebuilder. It reports whether there was one.
func servePlugin(streams genericiooptions.IOStreams) (bool, error) {
	if file, ok := streams.In.(*os.File); ok {
		if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return false, err // a terminal
		}
	}
	var request pluginRequest
	err := json.NewDecoder(streams.In).Decode(&request)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("cannot read a request of kubebuilder from the standard input: %w", err)
	}
	response := pluginResponse{APIVersion: "v1alpha1", Command: request.Command, Universe: map[string]string{}}
	if err := respond(&request, &response, streams.ErrOut); err != nil {
		response.Error, response.ErrorMsgs = true, []string{"trueup: " + err.Error()}
	}
	return true, json.NewEncoder(streams.Out).Encode(response)
}

// respond completes the response. Remarks go to the standard error, which kubebuilder shows.
func respond(request *pluginRequest, response *pluginResponse, remarks io.Writer) error {
	isAPI := strings.Join(request.Args, " ") == "--api"
	switch request.Command {
	case "flags": // an error here makes kubebuilder bind the flags of all plugins again, and panic
		if isAPI {
			response.Flags = pluginFlags()
		}
	case "metadata":
		response.Metadata = pluginMetadata{Description: scaffoldDescription, Examples: scaffoldExamples}
		if isAPI {
			response.Metadata.Examples = pluginExample
		}
	case "create api":
		if err := createAPI(request, response, remarks); err != nil { // --force overwrites what kubebuilder has written
			return fmt.Errorf("%w; kubebuilder has written its files, but not PROJECT: correct the command and repeat it with --force", err)
		}
	case "init": // PROJECT would name the plugin, and kubebuilder then refuses to work where it is not installed
		return errors.New("the plugin is no part of a project's layout: empty the folder, repeat `kubebuilder init` without the plugin, " +
			"and give `--plugins go/v4,trueup/v1` to `kubebuilder create api` alone")
	default:
		return fmt.Errorf("`kubebuilder %s` has no part of trueup: for an API that exists, run `trueup scaffold`", request.Command)
	}
	return nil
}

func pluginFlags() (flags []pluginFlag) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	addChildFlags(set, &scaffold.Options{})
	set.VisitAll(func(f *pflag.Flag) {
		flag := pluginFlag{Name: f.Name, Type: f.Value.Type(), Default: strings.Trim(f.DefValue, "[]"), Usage: f.Usage}
		if flag.Type != "bool" {
			flag.Type = "string"
		}
		flags = append(flags, flag)
	})
	return flags
}

// createAPI changes what kubebuilder's plugin go/v4 has just written.
func createAPI(request *pluginRequest, response *pluginResponse, remarks io.Writer) error {
	var options scaffold.Options
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.ParseErrorsAllowlist.UnknownFlags = true // those of other plugins
	addAPIFlags(set, &options)
	addChildFlags(set, &options)
	hasResource, hasController := set.Bool("resource", true, ""), set.Bool("controller", true, "")
	controllerName := set.String("controller-name", "", "")
	if err := set.Parse(request.Args); err != nil {
		return err
	}
	if !*hasResource || !*hasController {
		return errors.New("the plugin needs --resource and --controller")
	}
	if *controllerName != "" {
		return errors.New("the plugin cannot do with --controller-name: it replaces the controller that has the name of the kind")
	}
	changes, err := runScaffold(func(name string) ([]byte, error) {
		text, exists := request.Universe[name]
		if !exists {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}, options)
	if err != nil {
		return err
	}
	response.Universe = changes.Files
	for _, kept := range changes.Kept {
		fmt.Fprintln(remarks, "trueup:", kept)
	}
	return nil
}
