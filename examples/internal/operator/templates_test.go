package operator_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trueup-go/trueup/examples/internal/operator"
)

func TestTemplates(t *testing.T) {
	defaults := fstest.MapFS{"names.tpl": {}}
	for name, test := range map[string]struct {
		args    []string
		prepare func(t *testing.T, dir string)
		says    string
	}{
		"no flag":                {},
		"optional without a use": {args: []string{"--templates-optional"}},
		"a missing folder": {
			args: []string{"--templates=DIR"},
			says: `--templates is "DIR": the folder: does not exist (see --templates-optional in --help)`,
		},
		"a missing folder that is optional": {args: []string{"--templates=DIR", "--templates-optional"}},
		"an empty folder": {
			args:    []string{"--templates=DIR"},
			prepare: func(t *testing.T, dir string) { t.Helper(); require.NoError(t, os.Mkdir(dir, 0o755)) },
			says: `--templates is "DIR": the folder: has no files, and no entry ..data, which volumes have ` +
				`(see --templates-optional in --help)`,
		},
		"the volume of an optional ConfigMap that does not exist": {
			args: []string{"--templates=DIR"},
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				require.NoError(t, os.MkdirAll(filepath.Join(dir, "..2026"), 0o755))
				require.NoError(t, os.Symlink("..2026", filepath.Join(dir, "..data")))
			},
		},
		"a file with a mistake, which people can correct": {
			args: []string{"--templates=DIR"},
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				require.NoError(t, os.Mkdir(dir, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "nmaes.yaml"), nil, 0o600))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if test.prepare != nil {
				test.prepare(t, "DIR")
			}
			var templates operator.Templates
			_, err := operator.ParseFlags("test-operator", test.args, io.Discard, templates.AddFlags)
			require.NoError(t, err)
			folder, err := templates.Folder(defaults, runtime.NewScheme())
			if test.says != "" {
				require.EqualError(t, err, test.says)
				require.Nil(t, folder)
				return
			}
			require.NoError(t, err)
			require.NoError(t, folder.Err())
		})
	}
}
