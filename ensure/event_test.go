package ensure_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/ensure"
)

// A recorder keeps what it is told.
type recorder struct {
	mu   sync.Mutex
	told []told
}

type told struct {
	Regarding, Related         *corev1.ObjectReference
	Type, Reason, Action, Note string
}

func (r *recorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	event := told{Type: eventtype, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...)}
	event.Regarding, _ = regarding.(*corev1.ObjectReference)
	event.Related, _ = related.(*corev1.ObjectReference)
	r.told = append(r.told, event)
}

// take returns what it was told since the last call.
func (r *recorder) take() []told {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.told
	r.told = nil
	return taken
}

// requireTold compares all but UIDs and versions.
func (r *recorder) requireTold(t *testing.T, why string, want ...told) {
	t.Helper()
	require.Empty(t, cmp.Diff(want, r.take(), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(corev1.ObjectReference{}, "UID", "ResourceVersion")), why)
}

func refersTo(apiVersion, kind, name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: "default", Name: name}
}

// aboutShop is an event about a ConfigMap of the shop's.
func aboutShop(reason ensure.Cause, action ensure.Operation, note string) told {
	return told{
		Regarding: refersTo("example.com/v1", "Shop", "shop"), Related: refersTo("v1", "ConfigMap", "settings"),
		Type: corev1.EventTypeNormal, Reason: string(reason), Action: string(action), Note: note,
	}
}

func TestEachWriteIsAnEvent(t *testing.T) {
	s, r := newServer(), &recorder{}
	e := ensure.New(s.cached(faithful), s, fieldOwner, ensure.WithRecorder(r))
	pass := func(desired client.Object, opts ...ensure.Option) {
		mustEnsure(t, e, desired, append(opts, ensure.ControlledBy(shop()))...)
	}
	remove := func(opts ...ensure.AbsentOption) {
		_, err := ensure.Absent(t.Context(), e, named(), append(opts, ensure.ControlledBy(shop()))...)
		require.NoError(t, err)
	}

	pass(configMap(), ensure.DryRun())
	r.requireTold(t, "nothing was stored")
	pass(configMap())
	r.requireTold(t, "it was made", aboutShop("Created", ensure.Created, "created ConfigMap default/settings"))
	for range 3 {
		pass(configMap())
	}
	r.requireTold(t, "nothing was to do")

	s.edit(t, configMap(), `{"data":{"color":"hunter2"},"metadata":{"labels":{"app":"hunter2"}}}`)
	pass(configMap())
	r.requireTold(t, "values are not told", aboutShop(ensure.Drifted, ensure.Updated,
		"updated ConfigMap default/settings: data[color], metadata.labels[app]"))
	s.edit(t, configMap(), `{"data":{"more":"x"}}`)
	pass(configMap())
	r.requireTold(t, "the server was asked and changed nothing")

	remove(ensure.DryRun())
	r.requireTold(t, "nothing was deleted")
	remove()
	r.requireTold(t, "it was deleted", aboutShop(ensure.Unwanted, ensure.Deleting, "deleting ConfigMap default/settings"))
	remove()
	remove()
	r.requireTold(t, "it is gone")
}

func TestEachWriteIsLogged(t *testing.T) {
	var logged []string
	logger := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	ctx := log.IntoContext(t.Context(), logger)
	s := newServer()
	e := newEnsurer(s)
	pass := func(opts ...ensure.Option) {
		_, err := ensure.Object(ctx, e, configMap(), append(opts, ensure.ControlledBy(shop()))...)
		require.NoError(t, err)
	}

	pass(ensure.DryRun())
	pass()
	pass()
	s.edit(t, configMap(), `{"data":{"color":"hunter2"}}`)
	pass()
	_, err := ensure.Absent(ctx, e, named(), ensure.ControlledBy(shop()))
	require.NoError(t, err)

	entry := func(message, operation, cause, changes string) string {
		return fmt.Sprintf(`"level"=0 "msg"=%q "kind"="ConfigMap" "child"="default/settings" "operation"=%q "cause"=%q "changes"=[%s]`,
			message, operation, cause, changes)
	}
	require.Equal(t, []string{
		entry("wrote child", "Created", "Missing", ""),
		entry("wrote child", "Updated", "Drifted", `"data[color]"`),
		entry("deleted child", "Deleting", "Unwanted", ""),
	}, logged, "values are not logged")
}

func TestWhatOthersDoIsNoEvent(t *testing.T) {
	s, r := newServer(), &recorder{}
	e := newEnsurer(s, ensure.WithRecorder(r))
	desired := with(configMap(), func(o *corev1.ConfigMap) { o.Finalizers = []string{"theirs.example.com/wait"} })
	created(t, s, desired)
	s.remove(t, desired)

	_, err := ensure.Object(t.Context(), e, desired)
	require.ErrorIs(t, err, ensure.ErrTerminating)
	_, err = ensure.Absent(t.Context(), e, named())
	require.NoError(t, err)
	r.requireTold(t, "somebody else sent the delete")
}

// An apply that meets another controller, or a deletion, has been made all the same.
func TestWritesThatEndInAnErrorAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		meet func(answer client.Object)
		want error
	}{
		"controlled": {func(answer client.Object) {
			answer.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Boss", Name: "boss", UID: "uid-of-boss", Controller: new(true)}})
		}, ensure.ErrForeign},
		"going": {func(answer client.Object) { answer.SetDeletionTimestamp(new(metav1.Now())) }, ensure.ErrTerminating},
	} {
		t.Run(name, func(t *testing.T) {
			s, told := newServer(), &recorder{}
			created(t, s, configMap())
			s.edit(t, configMap(), `{"data":{"color":"red"}}`)
			late := interceptor.NewClient(s.WithWatch, interceptor.Funcs{Patch: func(
				ctx context.Context, _ client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption,
			) error {
				err := s.patch(ctx, obj, patch, opts...)
				tc.meet(obj)
				return err
			}})
			counted := newTally(t)
			_, err := ensure.Object(t.Context(), ensure.New(late, s, fieldOwner, ensure.WithRecorder(told)), configMap())
			require.ErrorIs(t, err, tc.want)
			require.Equal(t, "blue", live(t, s, configMap()).Data["color"])
			events := slices.DeleteFunc(told.take(), isWarning)
			require.Len(t, events, 1)
			require.Equal(t, "Drifted", events[0].Reason)
			require.Contains(t, events[0].Note, "data[color]")
			require.InDelta(t, 1, counted.take()["writes /ConfigMap Updated Drifted"], 0)
		})
	}
}

func TestEventsOfASet(t *testing.T) {
	s, r := newServer(), &recorder{}
	e := ensure.New(s.cached(faithful), s, fieldOwner, ensure.WithRecorder(r))
	_, err := ensure.Set(t.Context(), e, shop(), []client.Object{configMap()})
	require.NoError(t, err)
	r.requireTold(t, "a child", aboutShop("Created", ensure.Created, "created ConfigMap default/settings"))
	prune(t, e, nil)
	r.requireTold(t, "pruned", aboutShop(ensure.Unwanted, ensure.Deleting, "deleting ConfigMap default/settings"))
}

func TestEventsOfARecreation(t *testing.T) {
	s, r := newServer(), &recorder{}
	created(t, s, fixed(), ensure.ControlledBy(shop()))
	s.answers = []error{refused("spec"), nil}
	changed := with(fixed(), func(svc *corev1.Service) { svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	mustEnsure(t, newEnsurer(s, ensure.WithRecorder(r)), changed,
		ensure.ControlledBy(shop()), ensure.Recreate(metav1.DeletePropagationBackground))
	about := func(action ensure.Operation, note string) told {
		event := aboutShop(ensure.DesiredChanged, action, note)
		event.Related = refersTo("v1", "Service", "web")
		return event
	}
	r.requireTold(t, "a deletion is told even if nothing comes after it",
		about(ensure.Deleting, "deleting Service default/web: spec.sessionAffinity"),
		about(ensure.Recreated, "recreated Service default/web: spec.sessionAffinity"))
}

// A recorder looks up in its scheme what typed objects do not tell, and the manager's may not
// know them. What is named is what owner references name.
func TestEventsNameOwnerAndChild(t *testing.T) {
	typed, dynamic := shop(), unstructuredConfigMap()
	dynamic.SetUID("uid-of-dynamic")
	dynamic.SetName("dynamic")
	cluster := with(namespace(), func(o *corev1.Namespace) { o.UID, o.ResourceVersion = "uid-of-tenant", "9" })
	for reason, tc := range map[string]struct {
		owner client.Object
		want  corev1.ObjectReference
	}{
		"typed, without TypeMeta": {typed, corev1.ObjectReference{
			APIVersion: "example.com/v1", Kind: "Shop", Namespace: "default", Name: "shop", UID: "uid-of-shop", ResourceVersion: "7",
		}},
		"unstructured": {dynamic, corev1.ObjectReference{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "dynamic", UID: "uid-of-dynamic",
		}},
		"cluster-scoped": {cluster, corev1.ObjectReference{
			APIVersion: "v1", Kind: "Namespace", Name: "tenant", UID: "uid-of-tenant", ResourceVersion: "9",
		}},
	} {
		t.Run(reason, func(t *testing.T) {
			s, r := newServer(), &recorder{}
			child := mustEnsure(t, newEnsurer(s, ensure.WithRecorder(r)), configMap(), ensure.ControlledBy(tc.owner)).Live
			want := refersTo("v1", "ConfigMap", "settings")
			want.UID, want.ResourceVersion = child.UID, child.ResourceVersion
			events := r.take()
			require.Len(t, events, 1)
			require.Empty(t, cmp.Diff(&tc.want, events[0].Regarding))
			require.Empty(t, cmp.Diff(want, events[0].Related))
		})
	}
}

func TestEventsWithoutAnOwnerAreAboutTheChild(t *testing.T) {
	boss := metav1.OwnerReference{APIVersion: "v1", Kind: "Boss", Name: "boss", UID: "uid-of-boss", Controller: new(true)}
	for reason, desired := range map[string]client.Object{
		"no owner":         configMap(),
		"an owner by hand": with(configMap(), func(o *corev1.ConfigMap) { o.OwnerReferences = []metav1.OwnerReference{boss} }),
	} {
		s, r := newServer(), &recorder{}
		mustEnsure(t, newEnsurer(s, ensure.WithRecorder(r)), desired)
		want := aboutShop("Created", ensure.Created, "created ConfigMap default/settings")
		want.Regarding, want.Related = want.Related, nil
		r.requireTold(t, reason, want)
	}
	s, r := newServer(), &recorder{}
	mustEnsure(t, newEnsurer(s, ensure.WithRecorder(r)), namespace())
	require.Equal(t, "created Namespace tenant", r.take()[0].Note)
}

func isWarning(event told) bool { return event.Type == corev1.EventTypeWarning }

// A write that ends as ErrContested was made all the same.
func TestContestedWritesAreEvents(t *testing.T) {
	r := &recorder{}
	a := newArena(t, faithful, ensure.WithRecorder(r))
	a.begin(configMap(), a.paint)
	require.Len(t, slices.DeleteFunc(r.take(), isWarning), 1+5, "one creation, and five times red made blue")
}

// The API server takes 1,024 bytes.
func TestNotesAreBounded(t *testing.T) {
	note := func(change func(*corev1.ConfigMap)) string {
		s, r := newServer(), &recorder{}
		e := newEnsurer(s, ensure.WithRecorder(r))
		mustEnsure(t, e, configMap())
		r.take()
		mustEnsure(t, e, with(configMap(), change))
		return r.take()[0].Note
	}

	long := note(func(o *corev1.ConfigMap) {
		o.Data = map[string]string{}
		for i := range 200 {
			o.Data[fmt.Sprintf("key-%03d", i)] = "x"
		}
	})
	require.LessOrEqual(t, len(long), 1024)
	require.Greater(t, len(long), 1000, "what fits is told")
	require.Regexp(t, `^updated ConfigMap default/settings: data\[color\], data\[key-000\], .*\], data\[key-\d{3}\] and \d+ more$`, long)
	told := strings.Count(long, "data[")
	require.Contains(t, long, fmt.Sprintf(" and %d more", 202-told), "color and shape gone, 200 keys")

	giant := note(func(o *corev1.ConfigMap) { o.Data[strings.Repeat("🦊", 300)] = "x" })
	require.LessOrEqual(t, len(giant), 1024)
	require.Greater(t, len(giant), 1000)
	require.True(t, utf8.ValidString(giant))
	require.Regexp(t, `^updated ConfigMap default/settings: data\[🦊+`, giant)

	require.Equal(t, "updated ConfigMap default/settings: "+digestPath, note(func(o *corev1.ConfigMap) {
		o.Finalizers = []string{} // which is another desired state, and the same object
	}), "if it is all that changed")
}

func TestANilRecorderIsRefused(t *testing.T) {
	var none *recorder
	for _, setting := range []ensure.Setting{ensure.WithRecorder(nil), ensure.WithRecorder(none)} {
		s := newServer()
		_, err := ensure.Object(t.Context(), newEnsurer(s, setting), configMap())
		require.ErrorIs(t, err, ensure.ErrRefused)
		require.ErrorContains(t, err, "the recorder given to ensure.WithRecorder is nil")
		require.Empty(t, s.verbs())
	}
}

// A list that is refused is told like other refusals.
func TestEventOfAPruningThatMayNotList(t *testing.T) {
	s, r := newServer(), &recorder{}
	broken := interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "", nil)
		},
	})
	e := ensure.New(broken, s, fieldOwner, ensure.WithRecorder(r))
	for range 2 {
		_, err := ensure.Set(t.Context(), e, shop(), nil, ensure.Prune(&corev1.ConfigMap{}))
		require.ErrorIs(t, err, ensure.ErrAPI)
	}
	told := r.take()
	require.Len(t, told, 1)
	require.Equal(t, []string{"Warning", "Forbidden", "list"}, []string{told[0].Type, told[0].Reason, told[0].Action})
	require.Equal(t, "Shop", told[0].Regarding.Kind)
}
