package manifest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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
		"continuous writes": {2 * maxReads, strconv.Itoa(maxReads)},
	} {
		t.Run(name, func(t *testing.T) {
			folder := NewFolder(t.TempDir(), fstest.MapFS{"a.yaml": {}}, runtime.NewScheme())
			write := func(i int) {
				require.NoError(t, os.WriteFile(filepath.Join(folder.dir, "a.yaml"), []byte(strconv.Itoa(i)), 0o600))
			}
			write(0)
			synctest.Test(t, func(t *testing.T) {
				f := &follower{folderSource: &folderSource{folder: folder}, lastRead: folder.read()}
				done := make(chan struct{})
				go func() { defer close(done); f.waitUntilStable(t.Context()) }()
				<-time.After(settleTime / 2)
				for i := range test.writes {
					write(i + 1)
					<-time.After(settleTime)
				}
				<-done
				require.Equal(t, test.want, string(f.lastRead.files["a.yaml"].Data))
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

// TestFolderThatFails reads a folder on a broken disk.
func TestFolderThatFails(t *testing.T) {
	files := fstest.MapFS{"a.yaml": {}}
	for name, test := range map[string]struct {
		files fs.FS
		want  string
	}{
		"list": {refusedFS{errDisk}, "the folder: cannot be read: disk failure"},
		"open": {badFS{MapFS: files, open: errDisk}, "a.yaml: cannot be read: disk failure"},
		"read": {badFS{MapFS: files}, "a.yaml: cannot be read: disk failure"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := NewFolder("", files, scheme.Scheme)
			folder.files = test.files
			_, err := Object[*corev1.ConfigMap](folder.Renderer(), "a.yaml", "shop", nil)
			require.EqualError(t, err, test.want)
			require.ErrorIs(t, err, errDisk)
		})
	}
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
	s.lastRead = folder.read()
	s.enqueued = s.lastRead
	folder.current.Store(s.lastRead)
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
func (s *stage) current() string { return string(s.folder.current.Load().files["a.yaml"].Data) }
