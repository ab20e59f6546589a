package manifest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestFollower controls the events of the file system and the clock.
func TestFollower(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *stage){
		"polls without events": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(pollInterval / 2)
			s.write(t, "new")
			require.Equal(t, "old", s.current())
			s.after(pollInterval)
			require.Equal(t, "new", s.current())
			require.Equal(t, 2, s.queue.Len(), "every object is enqueued")
		},
		"does not use a half-written file": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(settleTime * 3 / 2)
			s.write(t, "half")
			s.events <- fsnotify.Event{Name: filepath.Join(s.folder.dir, "a.yaml")}
			s.after(settleTime * 3 / 2)
			s.write(t, "whole")
			s.after(settleTime)
			require.Equal(t, "old", s.current())
			s.after(settleTime)
			require.Equal(t, "whole", s.current())
		},
		"does not use a file that is written again with the same text": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(settleTime * 3 / 2)
			s.write(t, "half")
			s.events <- fsnotify.Event{Name: filepath.Join(s.folder.dir, "a.yaml")}
			s.after(settleTime * 3 / 2)
			require.NoError(t, os.Chtimes(filepath.Join(s.folder.dir, "a.yaml"), time.Time{}, time.Unix(1, 0)))
			s.after(settleTime)
			require.Equal(t, "old", s.current())
			s.after(settleTime)
			require.Equal(t, "half", s.current())
		},
		"enqueues nothing if only a time changes": func(t *testing.T, s *stage) {
			t.Helper()
			require.NoError(t, os.Chtimes(filepath.Join(s.folder.dir, "a.yaml"), time.Time{}, time.Unix(1, 0)))
			s.after(pollInterval * 3)
			require.Zero(t, s.queue.Len())
		},
		"keeps the last good snapshot while the folder is away": func(t *testing.T, s *stage) {
			t.Helper()
			require.NoError(t, os.Remove(filepath.Join(s.folder.dir, "a.yaml")))
			s.after(settleTime * 3)
			require.Equal(t, "old", s.current())
			require.ErrorContains(t, s.folder.Err(), errEmpty.Problem)
			require.Equal(t, 2, s.queue.Len(), "every object reports the problem")
			s.write(t, "old")
			s.after(pollInterval * 2)
			require.NoError(t, s.folder.Err())
		},
		"does not report a folder that is replaced": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(settleTime * 3 / 2)
			require.NoError(t, os.Remove(filepath.Join(s.folder.dir, "a.yaml")))
			s.events <- fsnotify.Event{Name: filepath.Join(s.folder.dir, "a.yaml")}
			s.after(settleTime * 3 / 2)
			s.write(t, "new")
			s.after(settleTime)
			require.NoError(t, s.folder.Err())
			require.Equal(t, "old", s.current())
			s.after(settleTime)
			require.NoError(t, s.folder.Err())
			require.Equal(t, "new", s.current())
		},
		"ignores other folders": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(settleTime * 3 / 2)
			s.write(t, "new")
			s.events <- fsnotify.Event{Name: s.folder.dir + "-2"}
			s.after(settleTime * 3)
			require.Equal(t, "old", s.current())
		},
		"reads again after lost events": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(settleTime * 3 / 2)
			s.write(t, "new")
			s.errs <- fsnotify.ErrEventOverflow
			s.after(settleTime * 3)
			require.Equal(t, "new", s.current())
		},
		"lists the objects again after an error": func(t *testing.T, s *stage) {
			t.Helper()
			s.listFails.Store(true)
			s.write(t, "new")
			s.after(settleTime * 10)
			require.Equal(t, "new", s.current())
			require.Zero(t, s.queue.Len())
			s.listFails.Store(false)
			s.after(settleTime)
			require.Equal(t, 2, s.queue.Len())
		},
		"enqueues nothing without a change": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(pollInterval * 3)
			require.Zero(t, s.queue.Len())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, dir)
				go s.follow(t.Context(), s.events, s.errs) // the bubble waits until follow returns
				test(t, s)
			})
		})
	}
}

// TestWaitUntilStable writes to the folder between the first reads.
func TestWaitUntilStable(t *testing.T) {
	for name, test := range map[string]struct {
		writes int
		want   string
	}{
		"no writes":         {0, "0"},
		"some writes":       {3, "3"},
		"continuous writes": {2 * maxLooks, errRestless.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			folder := NewFolder(t.TempDir(), fstest.MapFS{"a.yaml": {}}, runtime.NewScheme())
			write := func(i int) {
				require.NoError(t, os.WriteFile(filepath.Join(folder.dir, "a.yaml"), []byte(strconv.Itoa(i)), 0o600))
			}
			write(0)
			synctest.Test(t, func(t *testing.T) {
				f := &follower{folderSource: &folderSource{folder: folder}, lastLook: folder.look()}
				done := make(chan struct{})
				go func() { defer close(done); f.waitUntilStable(t.Context()) }()
				<-time.After(settleTime / 2)
				for i := range test.writes {
					write(i + 1)
					<-time.After(settleTime)
				}
				<-done
				f.use(t.Context())
				if folder.Err() != nil {
					require.EqualError(t, folder.Err(), test.want)
					return
				}
				require.Equal(t, test.want, string(f.lastLook.files["a.yaml"].Data))
			})
		})
	}
}

// TestNoWatcher polls the folder, since the operating system has no watchers left.
func TestNoWatcher(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, dir)
		s.newWatcher = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
		require.NoError(t, s.Start(t.Context(), s.queue))
		s.write(t, "new")
		s.after(2 * pollInterval)
		require.Equal(t, "new", s.current())
		require.Equal(t, 2, s.queue.Len())
	})
}

// TestFolderThatFails looks at a folder on a broken disk, and at one that the operator may not read.
func TestFolderThatFails(t *testing.T) {
	files := fstest.MapFS{"a.yaml": {}}
	for name, test := range map[string]struct {
		files fs.FS
		cause error
		want  string
		isAll bool // of the folder
	}{
		"list":        {refusedFS{errDisk}, errDisk, "the folder: cannot be read: disk failure", true},
		"open":        {badFS{MapFS: files, open: errDisk}, errDisk, "a.yaml: cannot be read: disk failure", false},
		"read":        {badFS{MapFS: files}, errDisk, "a.yaml: cannot be read: disk failure", false},
		"no rights":   {refusedFS{fs.ErrPermission}, fs.ErrPermission, "the folder: cannot be read: permission denied", true},
		"unlisted":    {refusedFS{fs.ErrNotExist}, nil, "the folder: does not exist", true},
		"secret file": {badFS{MapFS: files, open: fs.ErrPermission}, fs.ErrPermission, "a.yaml: cannot be read: permission denied", false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := NewFolder(t.TempDir(), files, scheme.Scheme)
			folder.dirFS = func(string) fs.FS { return test.files }
			_, err := Object[*corev1.ConfigMap](folder.Renderer(), "a.yaml", "shop", nil)
			require.EqualError(t, err, test.want)
			if test.cause != nil {
				require.ErrorIs(t, err, test.cause)
			}
			if test.isAll {
				require.EqualError(t, folder.Err(), test.want)
			} else {
				require.NoError(t, folder.Err())
			}
		})
	}
}

// TestLookDuringAnUpdate has somebody change the folder between the list of its files and the reads.
func TestLookDuringAnUpdate(t *testing.T) {
	for name, test := range map[string]struct {
		prepare, change func(t *testing.T, dir string)
		want            map[string]string
		fails           string
	}{
		"a volume gets another version": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				makeVersion(t, dir, "..1")
				makeVersion(t, dir, "..2")
				link(t, dir, "..1")
			},
			change: func(t *testing.T, dir string) { t.Helper(); link(t, dir, "..2") },
			want:   map[string]string{"a.yaml": "..1", "b.yaml": "..1"},
		},
		"a volume gets another version, and the old one is removed": {
			prepare: func(t *testing.T, dir string) {
				t.Helper()
				makeVersion(t, dir, "..1")
				makeVersion(t, dir, "..2")
				link(t, dir, "..1")
			},
			change: func(t *testing.T, dir string) {
				t.Helper()
				link(t, dir, "..2")
				require.NoError(t, os.RemoveAll(filepath.Join(dir, "..1")))
			},
			fails: "a.yaml: cannot be read: no such file or directory",
		},
		"a file vanishes": {
			prepare: func(t *testing.T, dir string) { t.Helper(); makeVersion(t, dir, ".") },
			change: func(t *testing.T, dir string) {
				t.Helper()
				require.NoError(t, os.Remove(filepath.Join(dir, "b.yaml")))
			},
			fails: "b.yaml: cannot be read: no such file or directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, change := t.TempDir(), sync.Once{}
			test.prepare(t, dir)
			folder := NewFolder(dir, fstest.MapFS{"a.yaml": {}, "b.yaml": {}}, runtime.NewScheme())
			folder.dirFS = func(dir0 string) fs.FS {
				return busyFS{os.DirFS(dir0), func() { change.Do(func() { test.change(t, dir) }) }}
			}
			seen := folder.look()
			if test.fails != "" {
				require.EqualError(t, seen.fileErr, test.fails)
				require.False(t, folder.look().stoodStillSince(seen), "the next look sees something else, so this one is not used")
				return
			}
			require.NoError(t, seen.fileErr)
			got := map[string]string{}
			for file, content := range seen.files {
				got[file] = string(content.Data)
			}
			require.Equal(t, test.want, got)
		})
	}
}

// makeVersion makes a folder with two files that have its name.
func makeVersion(t *testing.T, dir, version string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, version), 0o755))
	for _, file := range []string{"a.yaml", "b.yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, version, file), []byte(version), 0o600))
	}
}

// link makes ..data lead to a version.
func link(t *testing.T, dir, version string) {
	t.Helper()
	require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
}

// A busyFS calls a function before it opens a file.
type busyFS struct {
	fs.FS

	beforeOpen func()
}

func (b busyFS) Open(name string) (fs.File, error) {
	if name != "." {
		b.beforeOpen()
	}
	return b.FS.Open(name)
}

var errDisk = errors.New("disk failure")

// A badFS has files that cannot be read.
type badFS struct {
	fstest.MapFS

	open error
}

func (b badFS) Open(name string) (fs.File, error) {
	file, _ := b.MapFS.Open(name)
	return badFile{file}, b.open
}

type badFile struct{ fs.File }

func (badFile) Read([]byte) (int, error) { return 0, errDisk }

// A stage has a follower of a folder with one file.
type stage struct {
	*follower

	events    chan fsnotify.Event
	errs      chan error
	listFails atomic.Bool
}

func newStage(t *testing.T, dir string) *stage {
	t.Helper()
	s := &stage{events: make(chan fsnotify.Event), errs: make(chan error)}
	reader := fake.NewClientBuilder().
		WithObjects(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "two"}}).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if s.listFails.Load() {
					return errors.New("out of reach")
				}
				return c.List(ctx, list, opts...)
			},
		}).Build()
	folder := NewFolder(dir, fstest.MapFS{"a.yaml": {}}, runtime.NewScheme())
	s.follower = &follower{
		folderSource: &folderSource{folder: folder, reader: reader, list: &corev1.ConfigMapList{}},
		queue:        workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	t.Cleanup(s.queue.ShutDown)
	s.write(t, "old")
	s.lastLook = folder.look()
	s.enqueued = s.lastLook
	require.NoError(t, folder.use(s.lastLook))
	return s
}

func (s *stage) write(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(s.folder.dir, "a.yaml"), []byte(text), 0o600))
}

// after returns when the time has passed and the follower is idle.
func (*stage) after(passed time.Duration) {
	<-time.After(passed)
	synctest.Wait()
}

// current returns the content of the file in the current snapshot.
func (s *stage) current() string {
	s.folder.mu.Lock()
	defer s.folder.mu.Unlock()
	return string(s.folder.current.files["a.yaml"].Data)
}
