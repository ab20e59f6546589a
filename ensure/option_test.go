package ensure_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/consistency"
)

func TestIfExists(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	result := mustEnsure(t, e, configMap(), ensure.IfExists())
	require.Equal(t, ensure.Gone, result.Operation)
	require.Nil(t, result.Live)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))

	created(t, s, with(configMap(), func(o *corev1.ConfigMap) { o.Data["color"] = "red" }))
	require.Equal(t, ensure.Updated, mustEnsure(t, e, configMap(), ensure.IfExists()).Operation)

	s.edit(t, configMap(), `{"data":{"color":"green"}}`)
	s.before = func(verb string) {
		if verb == "apply" {
			s.before = nil
			s.remove(t, configMap())
		}
	}
	result = mustEnsure(t, e, configMap(), ensure.IfExists())
	require.Equal(t, ensure.Gone, result.Operation, "it goes between read and apply, and stays away")

	s.leaving(t)
	_, err := ensure.Object(t.Context(), e, configMap(), ensure.IfExists())
	require.ErrorIs(t, err, ensure.ErrTerminating)
	require.NotContains(t, err.Error(), "made again")
}

// leaving makes a ConfigMap that is on its way out.
func (s *apiServer) leaving(t *testing.T) {
	t.Helper()
	created(t, s, configMap())
	s.edit(t, configMap(), `{"metadata":{"finalizers":["example.com/wait"]}}`)
	s.remove(t, configMap())
}

// What a dry run makes of desired is tried on a real server in test/suites/ensure; here it is
// that nothing is stored and nothing remembered.
func TestDryRun(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	pass := func(opts ...ensure.Option) (ensure.Result[*corev1.ConfigMap], []request) {
		result := mustEnsure(t, e, configMap(), opts...)
		requests := s.take()
		return result, requests[1:] // less the read
	}
	isDry := func(r request) bool {
		return len(r.options.DryRun) == 1 && consistency.IsOff(&r.options) == consistency.IsSupported()
	}

	result, requests := pass(ensure.DryRun())
	require.Equal(t, ensure.Created, result.Operation)
	require.Equal(t, "blue", result.Live.Data["color"])
	require.Len(t, requests, 1)
	require.True(t, isDry(requests[0]))

	result, requests = pass()
	require.Equal(t, ensure.Created, result.Operation, "it was not")
	require.False(t, isDry(requests[0]))

	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	result, requests = pass(ensure.DryRun())
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, ensure.Drifted, result.Cause)
	require.Equal(t, []ensure.Change{{Path: "data[color]"}}, result.Changes)
	require.True(t, isDry(requests[0]))
	require.Equal(t, "red", live(t, s, configMap()).Data["color"])

	result, _ = pass()
	require.Equal(t, ensure.Updated, result.Operation)
	result, requests = pass(ensure.DryRun())
	require.Equal(t, ensure.Unchanged, result.Operation)
	require.Empty(t, requests, "what is known needs no dry run")
}

func TestDryRunOfARecreation(t *testing.T) {
	s := newServer()
	before := created(t, s, service())
	e := newEnsurer(s)
	s.immutableNow()
	result := mustEnsure(t, e, affine(), ensure.Recreate(metav1.DeletePropagationOrphan), ensure.DryRun())
	require.Equal(t, ensure.Recreated, result.Operation)
	require.Equal(t, before.UID, result.Live.UID)
	deletes := removals(s.take())
	require.Len(t, deletes, 1)
	require.Equal(t, []string{metav1.DryRunAll}, deletes[0].DryRun)

	s.remove(t, service())
	require.Equal(t, ensure.Created, mustEnsure(t, e, affine()).Operation, "nothing was deleted to be made anew")
}

func TestDryRunOfADeletion(t *testing.T) {
	s := newServer()
	created(t, s, configMap())
	result, err := ensure.Absent(t.Context(), newEnsurer(s), named(), ensure.DryRun())
	require.NoError(t, err)
	require.Equal(t, ensure.Deleting, result.Operation)
	require.NotNil(t, live(t, s, configMap()))
}

// Options that contradict each other, and values that no option has, are mistakes.
func TestRefusedOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		opts []ensure.Option
		says string
	}{
		"IfMissing":           {[]ensure.Option{ensure.IfMissing(), ensure.Adopt()}, "ensure.IfMissing does not change an existing object"},
		"an unknown extent":   {[]ensure.Option{ensure.Recreate("Orphan", "All")}, `takes ensure.OnDrift and ensure.DeleteData, not "All"`},
		"an empty extent":     {[]ensure.Option{ensure.Recreate("Orphan", ensure.OnDrift, "")}, `not ""`},
		"a nil option":        {[]ensure.Option{nil}, "an Option is nil"},
		"a nil ChildOption":   {[]ensure.Option{ensure.ChildOption(nil)}, "an Option is nil"},
		"Recreate of nothing": {[]ensure.Option{ensure.Recreate("")}, "ensure.Recreate takes Background or Orphan"},
		"Recreate":            {[]ensure.Option{ensure.Recreate(metav1.DeletePropagationForeground)}, `ensure.Recreate takes Background or Orphan, not "Foreground"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			_, err := ensure.Object(t.Context(), newEnsurer(s), configMap(), tc.opts...)
			require.ErrorIs(t, err, ensure.ErrRefused)
			require.ErrorContains(t, err, tc.says)
			require.Empty(t, s.take())
		})
	}
}

// Each option goes where it has a meaning.
var (
	_ ensure.Option = ensure.Adopt()
	_ ensure.Option = ensure.ControlledBy(nil)
	_ ensure.Option = ensure.DryRun()

	_ ensure.SetOption = ensure.Adopt()
	_ ensure.SetOption = ensure.DryRun()
	_ ensure.SetOption = ensure.Prune().WhenReady().Propagation("").DeleteAdopted()
	_ ensure.SetOption = ensure.ContinueOnError()
	_ ensure.SetOption = ensure.OnlyFor(nil)

	_ ensure.AbsentOption = ensure.ControlledBy(nil)
	_ ensure.AbsentOption = ensure.DryRun()
	_ ensure.AbsentOption = ensure.Propagation("")
	_ ensure.AbsentOption = ensure.DeleteAdopted()

	_ = []ensure.ChildOption{
		ensure.Adopt(), ensure.IfExists(), ensure.IfMissing(), ensure.Recreate(""), ensure.Release(), ensure.Once(),
		ensure.MigrateFrom(), ensure.Retire(), ensure.OverwriteData(),
	}
)

// An option does not compile where it has no meaning.
func TestOptionsAreTyped(t *testing.T) {
	type places struct{ object, set, absent, child bool }
	for name, tc := range map[string]struct {
		result any // a function's, by its type
		want   places
	}{
		"a ChildOption":   {ensure.Adopt, places{object: true, set: true, child: true}},
		"ControlledBy":    {ensure.ControlledBy, places{object: true, absent: true}},
		"DryRun":          {ensure.DryRun, places{object: true, set: true, absent: true}},
		"OnlyFor":         {ensure.OnlyFor, places{set: true}},
		"ContinueOnError": {ensure.ContinueOnError, places{set: true}},
		"Prune":           {ensure.Prune, places{set: true}},
		"Propagation":     {ensure.Propagation, places{absent: true}},
		"DeleteAdopted":   {ensure.DeleteAdopted, places{absent: true}},
	} {
		t.Run(name, func(t *testing.T) {
			returned := reflect.TypeOf(tc.result).Out(0)
			require.Equal(t, tc.want, places{
				object: returned.AssignableTo(reflect.TypeFor[ensure.Option]()),
				set:    returned.AssignableTo(reflect.TypeFor[ensure.SetOption]()),
				absent: returned.AssignableTo(reflect.TypeFor[ensure.AbsentOption]()),
				child:  returned.AssignableTo(reflect.TypeFor[ensure.ChildOption]()),
			})
		})
	}
}

// What exists is for users to edit.
func TestIfMissing(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	require.Equal(t, ensure.Created, mustEnsure(t, e, configMap(), ensure.IfMissing(), ensure.ControlledBy(shop())).Operation)
	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	s.take()
	result := mustEnsure(t, e, configMap(), ensure.IfMissing(), ensure.ControlledBy(shop()))
	require.Equal(t, ensure.Unchanged, result.Operation)
	require.Equal(t, "red", result.Live.Data["color"])
	changed := with(configMap(), func(o *corev1.ConfigMap) { o.Data["more"] = "x" })
	require.Equal(t, ensure.Unchanged, mustEnsure(t, newEnsurer(s), changed, ensure.IfMissing(), ensure.ControlledBy(shop())).Operation)
	require.Empty(t, writes(s.verbs()))

	s.remove(t, configMap())
	require.Equal(t, ensure.Created, mustEnsure(t, e, changed, ensure.IfMissing()).Operation)

	s = newServer(with(configMap(), func(o *corev1.ConfigMap) { o.UID = "a user's" }))
	require.Equal(t, ensure.Unchanged, mustEnsure(t, newEnsurer(s), configMap(), ensure.IfMissing(), ensure.ControlledBy(shop())).Operation,
		"a user was first")
	require.Empty(t, writes(s.verbs()))

	s = newServer(with(configMap(), func(o *corev1.ConfigMap) {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "other", UID: "other", Controller: new(true)}}
	}))
	_, err := ensure.Object(t.Context(), newEnsurer(s), configMap(), ensure.IfMissing(), ensure.ControlledBy(shop()))
	require.ErrorIs(t, err, ensure.ErrForeign)
}
