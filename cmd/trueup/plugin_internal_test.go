package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// kubebuilderProject is a project as kubebuilder wrote it, without go.mod.
const kubebuilderProject = "internal/scaffold/testdata/kubebuilder-4.16"

// ask sends a request as kubebuilder does, and returns the response and the standard error.
func ask(t *testing.T, request pluginRequest) (pluginResponse, string) {
	t.Helper()
	streams, in, out, remarks := genericiooptions.NewTestIOStreams()
	require.NoError(t, json.NewEncoder(in).Encode(request))
	command := newCommand("trueup", streams)
	command.SetArgs(nil)
	require.NoError(t, command.Execute())
	decoder := json.NewDecoder(out)
	decoder.DisallowUnknownFields()
	var response pluginResponse
	require.NoError(t, decoder.Decode(&response))
	require.False(t, decoder.More(), "the standard output has JSON alone")
	require.Equal(t, "v1alpha1", response.APIVersion)
	require.Equal(t, request.Command, response.Command)
	return response, remarks.String()
}

func TestPluginDescribesItself(t *testing.T) {
	t.Parallel()
	response, _ := ask(t, pluginRequest{Command: "flags", Args: []string{"--api"}})
	require.Equal(t, []pluginFlag{
		{Name: "children", Type: "string", Default: "deployment", Usage: "the children: deployment, service, configmap"},
		{Name: "finalizer", Type: "bool", Default: "false", Usage: "add a finalizer, with a function that cleans up"},
	}, response.Flags)
	for _, subcommand := range []string{"--init", "--edit", "--webhook"} {
		response, _ := ask(t, pluginRequest{Command: "flags", Args: []string{subcommand}})
		require.False(t, response.Error, "kubebuilder panics after an error")
		require.Empty(t, response.Flags)
	}
	response, _ = ask(t, pluginRequest{Command: "metadata", Args: []string{"--api"}})
	require.Contains(t, response.Metadata.Description, "reconciler")
	require.Contains(t, response.Metadata.Examples, "--plugins go/v4,trueup/v1")
}

// The arguments are those of the whole command, with flags of other plugins. Only files that change are returned.
func TestPluginCreatesAPI(t *testing.T) {
	t.Parallel()
	universe := map[string]string{
		".git/index": "DIRC\x00", "bin/manager": "\x7fELF",
		"go.mod": "module example.com/website\n\ngo 1.26.0\n\nrequire github.com/trueup-go/trueup v0.1.0\n",
	}
	for _, name := range []string{
		"PROJECT", "Dockerfile", "api/v1/website_types.go", "internal/controller/website_controller.go",
		"internal/controller/website_controller_test.go", "config/samples/web_v1_website.yaml",
	} {
		text, err := os.ReadFile(filepath.FromSlash(kubebuilderProject + "/" + name))
		require.NoError(t, err)
		universe[name] = string(text)
	}
	request := pluginRequest{Command: "create api", Universe: universe, Args: strings.Fields(
		"--group web --version=v1 --kind Website --resource --controller --plural websites --make=false --children service,configmap --finalizer")}
	response, remarks := ask(t, request)
	require.False(t, response.Error, response.ErrorMsgs)
	require.Empty(t, remarks)
	require.Len(t, response.Universe, 4)
	require.Contains(t, response.Universe["internal/controller/website_controller.go"], "finalizer.Handle(")
	require.Contains(t, response.Universe["config/samples/web_v1_website.yaml"], "  port: 80\n")

	universe["config/samples/web_v1_website.yaml"] = "kind: Website\n"
	response, remarks = ask(t, request)
	require.False(t, response.Error, response.ErrorMsgs)
	require.Len(t, response.Universe, 3)
	require.Contains(t, remarks, "trueup: config/samples/web_v1_website.yaml is left alone")

	universe["internal/controller/website_controller.go"] += "\n// Mine.\n"
	response, _ = ask(t, request)
	require.True(t, response.Error)
	require.Contains(t, response.ErrorMsgs[0], "website_controller.go is not as kubebuilder v4.6 to v4.16 wrote it"+written)
	require.Empty(t, response.Universe)
}

// written is what kubebuilder has done before the plugin refuses.
const written = "; kubebuilder has written its files, but not PROJECT: correct the command and repeat it with --force"

func TestPluginRefuses(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"init":                               "no part of a project's layout: empty the folder, repeat `kubebuilder init` without the plugin",
		"edit":                               "run `trueup scaffold`",
		"create webhook":                     "run `trueup scaffold`",
		"create api --controller=false":      "needs --resource and --controller" + written,
		"create api --resource=false":        "needs --resource and --controller" + written,
		"create api --finalizer=maybe":       "invalid argument",
		"create api --controller-name=other": "cannot do with --controller-name",
	} {
		name, args, hasArgs := strings.Cut(command, " --")
		request := pluginRequest{Command: name}
		if hasArgs {
			request.Args = []string{"--" + args}
		}
		response, _ := ask(t, request)
		require.True(t, response.Error, command)
		require.Contains(t, response.ErrorMsgs[0], want, command)
		require.Empty(t, response.Universe, command)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkHost("linux"))
	require.NoError(t, checkHost("darwin"))
	require.EqualError(t, checkHost("windows"), "host not supported: windows")
}

// Without a request, the command prints its help.
func TestNoRequest(t *testing.T) {
	t.Parallel()
	streams, in, out, _ := genericiooptions.NewTestIOStreams()
	command := newCommand("trueup", streams)
	command.SetArgs(nil)
	require.NoError(t, command.Execute())
	require.Contains(t, out.String(), "scaffold")

	in.WriteString("hello")
	require.ErrorContains(t, command.Execute(), "cannot read a request of kubebuilder")
}
