package finalizer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trueup-go/trueup/finalizer"
)

const (
	row     = "example.com/row"
	bucket  = "example.com/bucket"
	foreign = "elsewhere.org/theirs"
)

// A server is controller-runtime's fake client that notes what is sent, and can be told
// how to answer.
type server struct {
	client.WithWatch

	before  func()   // runs before the next patch is looked at
	answers []error  // given to the next patches instead of doing them; nil does it
	patches []string // as they were sent
	options []client.PatchOptions
}

func newServer(objects ...client.Object) *server {
	s := &server{}
	s.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithObjects(objects...).Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			data, err := patch.Data(obj)
			if err != nil {
				return err
			}
			s.patches = append(s.patches, string(data))
			s.options = append(s.options, *(&client.PatchOptions{}).ApplyOptions(opts))
			if before := s.before; before != nil {
				s.before = nil
				before()
			}
			if len(s.answers) > 0 {
				answer := s.answers[0]
				s.answers = s.answers[1:]
				if answer != nil {
					return answer
				}
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	})
	return s
}

// site is an object with these finalizers.
func site(finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "site", UID: "uid-of-site",
			Labels: map[string]string{"app": "site"}, Finalizers: finalizers,
		},
		Data: map[string]string{"host": "site.example.com"},
	}
}

// goingSite is one that is being deleted.
func goingSite(finalizers ...string) *corev1.ConfigMap {
	s := site(finalizers...)
	s.DeletionTimestamp = new(metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	return s
}

// read is obj as the server has it.
func read[T client.Object](t *testing.T, c client.Reader, obj T) T {
	t.Helper()
	out, _ := obj.DeepCopyObject().(T)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(obj), out))
	return out
}

// edit is a merge patch by another writer.
func (s *server) edit(t *testing.T, obj client.Object, patch string) {
	t.Helper()
	sent, noted := s.patches, s.options
	out, _ := obj.DeepCopyObject().(client.Object)
	require.NoError(t, s.Patch(t.Context(), out, client.RawPatch(types.MergePatchType, []byte(patch))))
	s.patches, s.options = sent, noted
}

// A journal notes which Cleanups ran.
type journal struct{ ran []string }

// step is one whose Cleanup returns the results in order, the last one for ever.
func (j *journal) step(name string, results ...error) finalizer.Step {
	return finalizer.Step{Name: name, Cleanup: func(context.Context) error {
		j.ran = append(j.ran, name)
		if len(results) == 0 {
			return nil
		}
		result := results[0]
		if len(results) > 1 {
			results = results[1:]
		}
		return result
	}}
}

func steps(names ...string) []finalizer.Step {
	j := &journal{}
	list := make([]finalizer.Step, 0, len(names))
	for _, name := range names {
		list = append(list, j.step(name))
	}
	return list
}
