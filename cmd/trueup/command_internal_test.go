package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// The help names the command as people call it.
func TestNameOfTheCommand(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"/usr/bin/trueup":         "\n  trueup explain (TYPE/NAME |",
		"/usr/bin/kubectl-trueup": "\n  kubectl trueup explain (TYPE/NAME |",
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		command := newCommand(program, streams)
		command.SetArgs([]string{"explain", "--help"})
		require.NoError(t, command.Execute())
		require.Contains(t, out.String(), want, program)
	}
}

// The command writes the controller last, so that it can be repeated after a stop. After a refusal, nothing was changed.
func TestScaffoldWrites(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.FromSlash(kubebuilderProject))))
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("go.mod", []byte("module example.com/website\n\nrequire github.com/trueup-go/trueup v0.1.0\n"), 0o644))
	run := func() (string, error) {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		command := newCommand("trueup", streams)
		command.SetArgs(strings.Fields("scaffold --group web --version v1 --kind Website"))
		err := command.Execute()
		return out.String(), err
	}
	printed, err := run()
	require.NoError(t, err)
	require.Equal(t, `api/v1/website_types.go
go.mod
config/samples/web_v1_website.yaml
internal/controller/website_controller_test.go
internal/controller/website_controller.go
`, printed)

	printed, err = run()
	require.EqualError(t, err, "internal/controller/website_controller.go is not as kubebuilder v4.6 to v4.16 wrote it; nothing was changed")
	require.Empty(t, printed)
}
