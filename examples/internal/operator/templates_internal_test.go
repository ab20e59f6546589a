package operator

import (
	"context"
	"errors"
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
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestFollower has the events that it gets, and the time that passes, in its hand.
func TestFollower(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *stage){
		"without events it looks now and then": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(pollInterval / 2)
			s.write(t, "new")
			require.Equal(t, "old", s.taken())
			s.after(pollInterval)
			require.Equal(t, "new", s.taken())
			require.Equal(t, 2, s.queue.Len(), "everybody is woken")
		},
		"what is half written is not taken up": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(quiet * 3 / 2)
			s.write(t, "half")
			s.events <- fsnotify.Event{Name: filepath.Join(s.templates.dir, "a.yaml")}
			s.after(quiet * 3 / 2)
			s.write(t, "whole")
			s.after(quiet)
			require.Equal(t, "old", s.taken())
			s.after(quiet)
			require.Equal(t, "whole", s.taken())
		},
		"neighbours do not count": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(quiet * 3 / 2)
			s.write(t, "new")
			s.events <- fsnotify.Event{Name: s.templates.dir + "-2"}
			s.after(quiet * 3)
			require.Equal(t, "old", s.taken())
		},
		"lost events": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(quiet * 3 / 2)
			s.write(t, "new")
			s.errs <- fsnotify.ErrEventOverflow
			s.after(quiet * 3)
			require.Equal(t, "new", s.taken())
		},
		"whom to wake cannot be told yet": func(t *testing.T, s *stage) {
			t.Helper()
			s.listFails.Store(true)
			s.write(t, "new")
			s.after(quiet * 10)
			require.Equal(t, "new", s.taken())
			require.Zero(t, s.queue.Len())
			s.listFails.Store(false)
			s.after(quiet)
			require.Equal(t, 2, s.queue.Len())
		},
		"at rest nobody is woken": func(t *testing.T, s *stage) {
			t.Helper()
			s.after(pollInterval * 3)
			require.Zero(t, s.queue.Len())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { test(t, newStage(t, dir)) })
		})
	}
}

// TestAtRest has the folder be written, in between looks, when the operator starts.
func TestAtRest(t *testing.T) {
	for name, test := range map[string]struct {
		writes int
		want   string
	}{
		"nobody writes":  {0, "0"},
		"half written":   {3, "3"},
		"it never rests": {2 * mostLooks, strconv.Itoa(mostLooks)},
	} {
		t.Run(name, func(t *testing.T) {
			templates := NewTemplates(fstest.MapFS{"a.yaml": {}}, runtime.NewScheme())
			templates.dir = t.TempDir()
			write := func(i int) {
				require.NoError(t, os.WriteFile(filepath.Join(templates.dir, "a.yaml"), []byte(strconv.Itoa(i)), 0o600))
			}
			write(0)
			synctest.Test(t, func(t *testing.T) {
				done := make(chan *overridden)
				go func() { done <- templates.atRest(t.Context()) }()
				<-time.After(quiet / 2)
				for i := range test.writes {
					write(i + 1)
					<-time.After(quiet)
				}
				require.Equal(t, test.want, string((<-done).files["a.yaml"].Data))
			})
		})
	}
}

// stage is a follower at work on a folder with one file.
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
	templates := NewTemplates(fstest.MapFS{"a.yaml": {}}, runtime.NewScheme())
	templates.dir = dir
	s.follower = &follower{
		templatesSource: &templatesSource{templates: templates, reader: reader, list: &corev1.ConfigMapList{}},
		queue:           workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	t.Cleanup(s.queue.ShutDown)
	s.write(t, "old")
	s.seen = templates.read()
	s.follower.taken = s.seen
	templates.current.Store(s.seen)
	go s.follow(t.Context(), s.events, s.errs) // the bubble waits until it has ended
	return s
}

func (s *stage) write(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(s.templates.dir, "a.yaml"), []byte(text), 0o600))
}

// after returns when the time has passed, and the follower has done what it had to.
func (*stage) after(passed time.Duration) {
	<-time.After(passed)
	synctest.Wait()
}

// taken is what reconciles get.
func (s *stage) taken() string { return string(s.templates.current.Load().files["a.yaml"].Data) }
