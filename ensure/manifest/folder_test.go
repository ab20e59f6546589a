package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/manifest"
)

// limit is the timeout of every wait.
const limit = 30 * time.Second

// configMapManifest returns the manifest of a ConfigMap with from in its data.
func configMapManifest(from string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{template \"name\" .}}\ndata:\n  from: " + from + "\n"
}

func newFolder(dir string) *manifest.Folder {
	return manifest.NewFolder(dir, fstest.MapFS{
		"config.yaml": {Data: []byte(configMapManifest("defaults"))},
		"names.tpl":   {Data: []byte(`{{define "name"}}default{{end}}`)},
	}, clientgoscheme.Scheme)
}

// state returns what is rendered, and what Err says if that is something else.
func state(folder *manifest.Folder) string {
	made, err := rendered(folder), folder.Err()
	if err == nil || err.Error() == made {
		return made
	}
	return made + "; " + err.Error()
}

// rendered returns the name and the data of the rendered ConfigMap, or the error.
func rendered(folder *manifest.Folder) string {
	config, err := manifest.Object[*corev1.ConfigMap](folder.Renderer(), "config.yaml", "shop", nil)
	if err != nil {
		return err.Error()
	}
	return config.Name + " from " + config.Data["from"]
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// mount writes files into dir as the kubelet mounts a ConfigMap: each file is a link into ..data, which
// is a link to the folder with the current version.
func mount(t *testing.T, dir, version string, files map[string]string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, version), 0o755))
	for name, text := range files {
		write(t, filepath.Join(dir, version), name, text)
	}
	require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); !os.IsExist(err) {
			require.NoError(t, err)
		}
	}
}

func TestFolder(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*testing.T, string)
		want    string
	}{
		"one file": {
			func(t *testing.T, dir string) { t.Helper(); write(t, dir, "config.yaml", configMapManifest("folder")) },
			"default from folder",
		},
		"a shared file": {
			func(t *testing.T, dir string) { t.Helper(); write(t, dir, "names.tpl", `{{define "name"}}mine{{end}}`) },
			"mine from defaults",
		},
		"an additional shared file": {
			func(t *testing.T, dir string) {
				t.Helper()
				write(t, dir, "more.tpl", `{{define "more"}}more{{end}}`)
				write(t, dir, "config.yaml", configMapManifest(`{{template "more"}}`))
			},
			"default from more",
		},
		"a ConfigMap": {
			func(t *testing.T, dir string) {
				t.Helper()
				mount(t, dir, "..2026", map[string]string{"config.yaml": configMapManifest("mount")})
			},
			"default from mount",
		},
		"ignored files": {
			func(t *testing.T, dir string) {
				t.Helper()
				write(t, dir, ".config.yaml.swp", "oops")
				write(t, dir, ".names.tpl", "{{oops")
				write(t, filepath.Join(dir, "old"), "config.yaml", configMapManifest("old"))
				write(t, dir, "names.tpl", `{{define "name"}}mine{{end}}`)
			},
			"mine from defaults",
		},
		"the backup of an editor": {
			func(t *testing.T, dir string) { t.Helper(); write(t, dir, "names.tpl~", "") },
			"names.tpl~: overrides nothing: there are config.yaml, names.tpl, and *.tpl of any name",
		},
		"a ConfigMap whose update has not reached the links yet": {
			func(t *testing.T, dir string) {
				t.Helper()
				mount(t, dir, "..2026", map[string]string{"config.yaml": configMapManifest("mount")})
				write(t, filepath.Join(dir, "..2026"), "names.tpl", `{{define "name"}}mine{{end}}`)
			},
			"mine from mount",
		},
		"a file that would be ignored": {
			func(t *testing.T, dir string) {
				t.Helper()
				mount(t, dir, "..2026", nil)
				write(t, dir, "names.tpl", `{{define "name"}}mine{{end}}`)
			},
			"names.tpl: is not in ..data, where the files of a volume are",
		},
		"a folder with the name of a file": {
			func(t *testing.T, dir string) {
				t.Helper()
				require.NoError(t, os.Mkdir(filepath.Join(dir, "config.yaml"), 0o755))
			},
			"config.yaml: cannot be read: it is no file",
		},
		"a mistyped name": {
			func(t *testing.T, dir string) { t.Helper(); write(t, dir, "confg.yaml", configMapManifest("folder")) },
			"confg.yaml: overrides nothing: there are config.yaml, names.tpl, and *.tpl of any name",
		},
		"a broken template": {
			func(t *testing.T, dir string) { t.Helper(); write(t, dir, "config.yaml", "# one\n{{oops}}\n") },
			`config.yaml:2: function "oops" not defined`,
		},
		"a broken link": {
			func(t *testing.T, dir string) {
				t.Helper()
				require.NoError(t, os.Symlink("nothing", filepath.Join(dir, "config.yaml")))
			},
			"config.yaml: cannot be read: no such file or directory",
		},
		"more than 3 MiB": {
			func(t *testing.T, dir string) {
				t.Helper()
				write(t, dir, "config.yaml", configMapManifest("folder"))
				write(t, dir, "more.tpl", "")
				require.NoError(t, os.Truncate(filepath.Join(dir, "more.tpl"), 1<<40))
			},
			"more.tpl: cannot be read: with it the folder holds more than 3 MiB",
		},
		"a device": {
			func(t *testing.T, dir string) {
				t.Helper()
				require.NoError(t, os.Symlink(os.DevNull, filepath.Join(dir, "config.yaml")))
			},
			"config.yaml: cannot be read: it is no file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "manifests")
			require.NoError(t, os.Mkdir(dir, 0o755))
			test.prepare(t, dir)
			require.Equal(t, test.want, rendered(newFolder(dir)))
		})
	}
}

func TestNoFolder(t *testing.T) {
	require.Equal(t, "default from defaults", rendered(newFolder("")))
}

// unusable are states of a folder that has no files, and what Err says about them.
var unusable = map[string]struct {
	prepare  func(t *testing.T, dir string) // dir does not exist
	says     string
	isAbsent bool // an optional folder may be so
}{
	"missing": {func(*testing.T, string) {}, "the folder: does not exist", true},
	"empty": {
		func(t *testing.T, dir string) { t.Helper(); require.NoError(t, os.Mkdir(dir, 0o755)) },
		"the folder: has no files, and no entry ..data, which volumes have", true,
	},
	"without files that count": {
		func(t *testing.T, dir string) {
			t.Helper()
			write(t, dir, ".names.tpl.swp", "")
			write(t, filepath.Join(dir, "lost+found"), "names.tpl", "")
		},
		"the folder: has no files, and no entry ..data, which volumes have", true,
	},
	"a link to nothing": {
		func(t *testing.T, dir string) { t.Helper(); require.NoError(t, os.Symlink("nothing", dir)) },
		"the folder: does not exist", true,
	},
	"a link to itself": {
		func(t *testing.T, dir string) { t.Helper(); require.NoError(t, os.Symlink(filepath.Base(dir), dir)) },
		"the folder: cannot be read: EvalSymlinks: too many links", false,
	},
	"a file": {
		func(t *testing.T, dir string) { t.Helper(); write(t, filepath.Dir(dir), filepath.Base(dir), "") },
		"the folder: cannot be read: not a directory", false,
	},
	"a volume without its version": {
		func(t *testing.T, dir string) {
			t.Helper()
			mount(t, dir, "..2026", nil)
			require.NoError(t, os.Remove(filepath.Join(dir, "..2026")))
		},
		"the folder: cannot be read: no such file or directory", false,
	},
}

// TestUnusableFolder has no snapshot that could stay in use.
func TestUnusableFolder(t *testing.T) {
	for name, test := range unusable {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "manifests")
			test.prepare(t, dir)
			folder := newFolder(dir)
			require.EqualError(t, folder.Err(), test.says)
			require.Equal(t, test.says, rendered(folder))

			optional := newFolder(dir).Optional()
			if test.isAbsent {
				require.Equal(t, "default from defaults", rendered(optional))
				require.NoError(t, optional.Err())
			} else {
				require.EqualError(t, optional.Err(), test.says)
				require.Equal(t, test.says, rendered(optional))
			}
		})
	}
}

// TestFolderGoesAway has children whose names are in the folder: they keep their names.
func TestFolderGoesAway(t *testing.T) {
	for name, test := range unusable {
		for kind, asIs := range map[string]func(*manifest.Folder) *manifest.Folder{
			"required": func(folder *manifest.Folder) *manifest.Folder { return folder },
			"optional": (*manifest.Folder).Optional,
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "manifests")
				write(t, dir, "names.tpl", `{{define "name"}}mine{{end}}`)
				f := follow(t, asIs(newFolder(dir)))
				require.Equal(t, "mine from defaults", state(f.Folder))

				require.NoError(t, os.Rename(dir, dir+"-away"))
				test.prepare(t, dir)
				f.waitFor(t, "mine from defaults; "+test.says+"; the last manifests that could be read stay in use")

				require.NoError(t, os.RemoveAll(dir))
				require.NoError(t, os.Rename(dir+"-away", dir))
				f.waitFor(t, "mine from defaults")
			})
		}
	}
}

// TestBrokenFolderGoesAway removes the only file, which is broken: the snapshot before it stays in use.
func TestBrokenFolderGoesAway(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "names.tpl", `{{define "name"}}mine{{end}}`)
	f := follow(t, newFolder(dir))
	require.NoError(t, os.Rename(filepath.Join(dir, "names.tpl"), filepath.Join(dir, "nmaes.yaml")))
	f.waitFor(t, "nmaes.yaml: overrides nothing: there are config.yaml, names.tpl, and *.tpl of any name")
	require.NoError(t, os.Remove(filepath.Join(dir, "nmaes.yaml")))
	f.waitFor(t, "mine from defaults; "+unusable["empty"].says+"; the last manifests that could be read stay in use")
}

// TestOptionalFolder has its first file after the start.
func TestOptionalFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "manifests")
	f := follow(t, newFolder(dir).Optional())
	require.Equal(t, "default from defaults", state(f.Folder))
	write(t, dir, "nmaes.yaml", "")
	f.waitFor(t, "nmaes.yaml: overrides nothing: there are config.yaml, names.tpl, and *.tpl of any name")
	require.NoError(t, os.RemoveAll(dir))
	f.waitFor(t, "default from defaults")
	write(t, dir, "names.tpl", `{{define "name"}}mine{{end}}`)
	f.waitFor(t, "mine from defaults")
}

// TestFirstLookIsNotEnough loses the folder between the first look and the start of the source: nobody
// knows whether the look saw a whole folder.
func TestFirstLookIsNotEnough(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "manifests")
	write(t, dir, "names.tpl", `{{define "name"}}mine{{end}}`)
	folder := newFolder(dir).Optional()
	require.Equal(t, "mine from defaults", state(folder))
	require.NoError(t, os.RemoveAll(dir))
	f := follow(t, folder)
	require.Equal(t, "the folder: does not exist", state(f.Folder), "the built-in names would prune the children")
}

// TestRelativeFolder changes the working directory after NewFolder.
func TestRelativeFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "config.yaml", configMapManifest("folder"))
	t.Chdir(filepath.Dir(dir))
	folder := newFolder(filepath.Base(dir))
	t.Chdir(dir)
	require.Equal(t, "default from folder", rendered(folder))
}

func TestFolderIsASnapshot(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "config.yaml", configMapManifest("folder"))
	folder := newFolder(dir)
	require.Equal(t, "default from folder", rendered(folder))
	write(t, dir, "config.yaml", configMapManifest("changed"))
	require.Equal(t, "default from folder", rendered(folder), "nobody watches the source")
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, folder.Err(), "nobody watches the source")
}

// TestFolderWithNil passes nil where a value is required.
func TestFolderWithNil(t *testing.T) {
	files, reader, list := fstest.MapFS{}, fake.NewFakeClient(), &corev1.ConfigMapList{}
	require.Equal(t, `manifests in "/templates"`, fmt.Sprint(newFolder("/templates").Source(reader, list)))
	for _, folder := range []*manifest.Folder{
		nil, {}, manifest.NewFolder(t.TempDir(), nil, clientgoscheme.Scheme), manifest.NewFolder(t.TempDir(), files, nil),
	} {
		require.Equal(t, "config.yaml: manifest.NewRenderer or NewFolder was given no files or no scheme", rendered(folder))
		err := folder.Source(reader, list).Start(t.Context(), nil)
		require.EqualError(t, err, "manifest.NewFolder or Folder.Source was given nil")
		require.NoError(t, folder.Err(), "the renderer says so")
		require.Equal(t, rendered(folder), rendered(folder.Optional()))
	}
	folder := manifest.NewFolder("", files, clientgoscheme.Scheme)
	require.Error(t, folder.Source(nil, list).Start(t.Context(), nil))
	require.Error(t, folder.Source(reader, nil).Start(t.Context(), nil))
	require.NoError(t, folder.Source(reader, list).Start(t.Context(), nil), "there is no folder to watch")
}

// TestFollow changes a folder that a source follows.
func TestFollow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "manifests")
	f := follow(t, newFolder(dir))
	require.Equal(t, "the folder: does not exist", state(f.Folder))

	write(t, dir, "config.yaml", configMapManifest("new folder"))
	f.waitFor(t, "default from new folder")

	write(t, dir, "config.yaml", configMapManifest("changed"))
	f.waitFor(t, "default from changed")

	write(t, dir, "oops.yaml", "")
	f.waitFor(t, "oops.yaml: overrides nothing: there are config.yaml, names.tpl, and *.tpl of any name")

	require.NoError(t, os.Remove(filepath.Join(dir, "oops.yaml")))
	f.waitFor(t, "default from changed")

	write(t, dir, "more.tpl", "")
	require.NoError(t, os.Remove(filepath.Join(dir, "config.yaml")))
	f.waitFor(t, "default from defaults")

	require.NoError(t, os.RemoveAll(dir))
	write(t, dir, "config.yaml", configMapManifest("folder created again"))
	f.waitFor(t, "default from folder created again")

	require.NoError(t, os.Rename(dir, dir+"-away"))
	write(t, dir, "config.yaml", configMapManifest("another folder"))
	f.waitFor(t, "default from another folder")
}

// TestFollowMount updates a mounted ConfigMap.
func TestFollowMount(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "manifests")
	mount(t, dir, "..0", nil) // a volume of an optional ConfigMap that does not exist
	f := follow(t, newFolder(dir))
	require.Equal(t, "default from defaults", state(f.Folder))
	mount(t, dir, "..1", map[string]string{"config.yaml": configMapManifest("first"), "names.tpl": `{{define "name"}}first{{end}}`})
	f.waitFor(t, "first from first")
	mount(t, dir, "..2", map[string]string{"config.yaml": configMapManifest("second"), "names.tpl": `{{define "name"}}second{{end}}`})
	f.waitFor(t, "second from second")
	mount(t, dir, "..3", nil) // somebody deleted the ConfigMap
	f.waitFor(t, "default from defaults")
}

// TestFollowLink replaces a link to the folder.
func TestFollowLink(t *testing.T) {
	parent := t.TempDir()
	for _, version := range []string{"first", "second"} {
		write(t, filepath.Join(parent, version), "config.yaml", configMapManifest(version))
	}
	link := filepath.Join(parent, "current")
	require.NoError(t, os.Symlink("first", link))
	f := follow(t, newFolder(link))
	require.Equal(t, "default from first", state(f.Folder))
	require.NoError(t, os.Symlink("second", link+"-new"))
	require.NoError(t, os.Rename(link+"-new", link))
	f.waitFor(t, "default from second")
}

// A followed has a folder that a source follows, and the queue of the source.
type followed struct {
	*manifest.Folder

	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func follow(t *testing.T, folder *manifest.Folder) followed {
	t.Helper()
	reader := fake.NewClientBuilder().WithObjects(configMapCalled("one"), configMapCalled("two")).Build()
	f := followed{
		Folder: folder,
		queue:  workqueue.NewTypedRateLimitingQueue(ensure.RateLimiter()),
	}
	t.Cleanup(f.queue.ShutDown)
	source := f.Source(reader, &corev1.ConfigMapList{})
	require.NoError(t, source.Start(t.Context(), f.queue))
	return f
}

func configMapCalled(name string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
}

// waitFor waits until both ConfigMaps were enqueued for manifests with the result want. Other results
// may precede it.
func (f followed) waitFor(t *testing.T, want string) {
	t.Helper()
	results := map[string]string{}
	watchdog := time.AfterFunc(limit, f.queue.ShutDown)
	defer watchdog.Stop()
	for results["one"] != want || results["two"] != want {
		request, ended := f.queue.Get()
		require.False(t, ended, "waited for %q, got %v", want, results)
		results[request.Name] = state(f.Folder)
		f.queue.Done(request)
	}
}
