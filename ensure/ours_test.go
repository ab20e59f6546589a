package ensure_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// found is a ConfigMap that somebody else left where ours should be.
func found(change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	return with(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"},
		Data:       map[string]string{"color": "green"},
	}, change)
}

func entry(manager string, operation metav1.ManagedFieldsOperationType) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1",
		Time:     new(metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))),
		FieldsV1: managedfields.NewFields(`{"f:data":{".":{},"f:color":{}}}`),
	}
}

// appliedEarlier makes it an object that we applied in another form.
func appliedEarlier(o *corev1.ConfigMap) {
	o.Annotations = map[string]string{digestKey: "v1-old"}
	o.ManagedFields = []metav1.ManagedFieldsEntry{entry(fieldOwner, metav1.ManagedFieldsOperationApply)}
}

func TestObjectWritesWhatIsOurs(t *testing.T) {
	// An object without a controller is given to an owner only after a look at the owner.
	cases := map[string]struct {
		reason string
		found  func(*corev1.ConfigMap)
		show   view
		owner  client.Object
		want   []string
	}{
		"controlled by our owner": {
			"the server knows that no other manager applied its reference",
			func(o *corev1.ConfigMap) { o.OwnerReferences = []metav1.OwnerReference{shopRef()} },
			withoutManagedFields, shop(),
			[]string{"get", "apply"},
		},
		"carries our digest": {
			"the server is asked whether we applied it, or somebody copied it",
			appliedEarlier, withoutManagedFields, shop(),
			[]string{"get", "get", "apply"},
		},
		"carries our digest, no owner wanted": {
			"the server is asked whether we applied it, or somebody copied it",
			appliedEarlier, withoutManagedFields, nil,
			[]string{"get", "apply"},
		},
		"applied by us": {
			"the server noted it",
			func(o *corev1.ConfigMap) {
				o.ManagedFields = []metav1.ManagedFieldsEntry{entry(fieldOwner, metav1.ManagedFieldsOperationApply)}
			},
			faithful, shop(),
			[]string{"get", "apply"},
		},
		"applied by us, cache strips": {
			"the server is asked what the cache does not show",
			func(o *corev1.ConfigMap) {
				o.ManagedFields = []metav1.ManagedFieldsEntry{entry(fieldOwner, metav1.ManagedFieldsOperationApply)}
			},
			withoutManagedFields, shop(),
			[]string{"get", "get", "apply"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(found(tc.found))
			e := ensure.New(s.cached(tc.show), s, fieldOwner)
			var opts []ensure.Option
			if tc.owner != nil {
				opts = append(opts, ensure.ControlledBy(tc.owner))
			}
			result := mustEnsure(t, e, configMap(), opts...)
			require.Equal(t, ensure.Updated, result.Operation, tc.reason)
			require.Equal(t, "blue", result.Live.Data["color"])
			require.Empty(t, cmp.Diff(tc.want, s.verbs()))
		})
	}
}

func TestObjectLeavesWhatIsNotOurs(t *testing.T) {
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Boss", Name: "boss", UID: "uid-of-boss", Controller: new(true)}
	previous := shopRef()
	previous.UID = "uid-of-previous-shop"
	owned := []ensure.Option{ensure.ControlledBy(shop())}
	cases := map[string]struct {
		reason string
		found  func(*corev1.ConfigMap)
		show   view
		opts   []ensure.Option
		text   string
		want   []string
	}{
		"made by a stranger": {
			"nothing speaks for us", func(o *corev1.ConfigMap) {
				o.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", metav1.ManagedFieldsOperationApply)}
			},
			faithful, owned, "nothing shows that it was created by shop-operator", nil,
		},
		"updated, not applied, by our name": {
			"an Update entry is of a binary's name, which many share", func(o *corev1.ConfigMap) {
				o.ManagedFields = []metav1.ManagedFieldsEntry{entry(fieldOwner, metav1.ManagedFieldsOperationUpdate)}
			},
			faithful, owned, "nothing shows that it was created by shop-operator", nil,
		},
		"only its status applied by us": {
			"status may be written for others' objects", func(o *corev1.ConfigMap) {
				status := entry(fieldOwner, metav1.ManagedFieldsOperationApply)
				status.Subresource = "status"
				o.ManagedFields = []metav1.ManagedFieldsEntry{status}
			},
			faithful, owned, "nothing shows that it was created by shop-operator", nil,
		},
		"another operator's digest": {
			"each has a key of its own", func(o *corev1.ConfigMap) {
				o.Annotations = map[string]string{"spec-hash.trueup-go.github.io/other": "v1-x"}
			},
			withoutManagedFields, owned, "nothing shows that it was created by shop-operator",
			[]string{"get"},
		},
		"no managed fields even on the server": {
			"asked, the server knows no more", func(*corev1.ConfigMap) {},
			withoutManagedFields, nil, "nothing shows that it was created by shop-operator",
			[]string{"get"},
		},
		"owned, but not controlled, by our owner": {
			"any writer may add such an owner", func(o *corev1.ConfigMap) {
				mere := shopRef()
				mere.Controller = nil
				o.OwnerReferences = []metav1.OwnerReference{mere}
				o.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", metav1.ManagedFieldsOperationUpdate)}
			},
			faithful, owned, "nothing shows that it was created by shop-operator", nil,
		},
		"controlled by another": {
			"two controllers cannot be", func(o *corev1.ConfigMap) { o.OwnerReferences = []metav1.OwnerReference{other} },
			faithful, owned, `it is controlled by Boss "boss"`, nil,
		},
		"a copy of a child, with the digest": {
			"we have applied none of its fields", func(o *corev1.ConfigMap) {
				o.Annotations = map[string]string{digestKey: "v1-x"}
				o.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl-create", metav1.ManagedFieldsOperationUpdate)}
			},
			faithful, nil, "nothing shows that it was created by shop-operator", nil,
		},
		"controlled by another in spite of our digest": {
			"the controller decides", func(o *corev1.ConfigMap) {
				o.OwnerReferences = []metav1.OwnerReference{other}
				o.Annotations = map[string]string{digestKey: "v1-x"}
			},
			faithful, owned, `it is controlled by Boss "boss"`, nil,
		},
		"controlled by another, no owner wanted": {
			"somebody else answers for it", func(o *corev1.ConfigMap) { o.OwnerReferences = []metav1.OwnerReference{other} },
			faithful, nil, `it is controlled by Boss "boss", which decides on its content`, nil,
		},
		"left by a previous owner of the same name": {
			"the name was taken again before the garbage collector came", func(o *corev1.ConfigMap) {
				o.OwnerReferences = []metav1.OwnerReference{previous}
			},
			faithful, owned, "it was left by a previous Shop of the same name (UID uid-of-previous-shop)", nil,
		},
		"controlled by another, adopt": {
			"a second controller would be refused", func(o *corev1.ConfigMap) { o.OwnerReferences = []metav1.OwnerReference{other} },
			faithful,
			[]ensure.Option{ensure.ControlledBy(shop()), ensure.Adopt()},
			`it is controlled by Boss "boss"`, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer(found(tc.found))
			result, err := ensure.Object(t.Context(), ensure.New(s.cached(tc.show), s, fieldOwner), configMap(), tc.opts...)

			require.ErrorIs(t, err, ensure.ErrForeign, tc.reason)
			require.ErrorContains(t, err, `cannot ensure ConfigMap "default/settings": Foreign: `)
			require.ErrorContains(t, err, tc.text)
			require.Zero(t, result)
			require.Equal(t, "Foreign", ensure.Reason(err))
			if tc.want == nil {
				tc.want = []string{}
			}
			require.Empty(t, cmp.Diff(tc.want, s.verbs()))
			require.Equal(t, "green", live(t, s, configMap()).Data["color"])
		})
	}
}

// kubectl replace leaves neither owner nor digest nor managed fields of ours.
func TestObjectRemembersItsOwnByUID(t *testing.T) {
	s := newServer()
	show := view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner)
	mustEnsure(t, e, configMap())
	replaced := func(live client.Object) client.Object {
		live.SetOwnerReferences(nil)
		live.SetAnnotations(nil)
		live.SetManagedFields([]metav1.ManagedFieldsEntry{entry("kubectl-replace", metav1.ManagedFieldsOperationUpdate)})
		return live
	}
	s.edit(t, configMap(), `{"metadata":{"annotations":null}}`)

	_, err := ensure.Object(t.Context(), ensure.New(s.cached(replaced), s, fieldOwner), configMap())
	require.ErrorIs(t, err, ensure.ErrForeign, "after a restart nobody knows")

	show = replaced
	require.Equal(t, ensure.Updated, mustEnsure(t, e, configMap()).Operation)
}

func TestAdoptTakesAnUncontrolledObject(t *testing.T) {
	s := newServer(found(func(o *corev1.ConfigMap) { o.Labels = map[string]string{"theirs": "x"} }))
	e := newEnsurer(s)
	opts := []ensure.Option{ensure.ControlledBy(shop()), ensure.Adopt()}
	result := mustEnsure(t, e, configMap(), opts...)

	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, ensure.Adopted, result.Cause)
	require.Empty(t, cmp.Diff([]metav1.OwnerReference{shopRef()}, result.Live.OwnerReferences))
	require.Equal(t, "x", result.Live.Labels["theirs"])
	s.take()

	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap(), opts...).Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
	require.Equal(t, ensure.Unchanged, mustEnsure(t, newEnsurer(s), configMap(), ensure.ControlledBy(shop())).Operation,
		"adopted once, it is ours without Adopt")
}

func TestAdoptWithoutControlledByLeavesOwnersAlone(t *testing.T) {
	boss := metav1.OwnerReference{APIVersion: "v1", Kind: "Boss", Name: "boss", UID: "uid-of-boss", Controller: new(true)}
	s := newServer(found(func(o *corev1.ConfigMap) { o.OwnerReferences = []metav1.OwnerReference{boss} }))
	e := newEnsurer(s)
	result := mustEnsure(t, e, configMap(), ensure.Adopt())

	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, ensure.Adopted, result.Cause)
	require.Empty(t, cmp.Diff([]metav1.OwnerReference{boss}, result.Live.OwnerReferences))
	s.take()

	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap(), ensure.Adopt()).Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))

	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	require.Equal(t, ensure.Drifted, mustEnsure(t, e, configMap(), ensure.Adopt()).Cause, "it was adopted before")
}

func TestAdoptOfWhatDoesNotExistCreates(t *testing.T) {
	result := mustEnsure(t, newEnsurer(newServer()), configMap(), ensure.Adopt())
	require.Equal(t, ensure.Created, result.Operation)
	require.Equal(t, ensure.Missing, result.Cause)
}

func TestAdoptOfWhatIsOursIsNoAdoption(t *testing.T) {
	s := newServer()
	created(t, s, configMap())
	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	require.Equal(t, ensure.Drifted, mustEnsure(t, newEnsurer(s), configMap(), ensure.Adopt()).Cause)
}

func TestObjectLeavesAloneWhatIsGoing(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	going := configMap()
	mustEnsure(t, e, going)
	s.edit(t, going, `{"metadata":{"finalizers":["example.com/wait"]}}`)
	s.remove(t, going)
	s.take()

	changed := configMap()
	changed.Data["color"] = "red"
	for _, opts := range [][]ensure.Option{nil, {ensure.Adopt()}, {ensure.ControlledBy(shop())}} {
		_, err := ensure.Object(t.Context(), e, changed, opts...)
		require.ErrorIs(t, err, ensure.ErrTerminating)
		require.Equal(t, "Terminating", ensure.Reason(err))
		require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
	}

	s.edit(t, going, `{"metadata":{"finalizers":null}}`)
	require.Equal(t, ensure.Created, mustEnsure(t, e, changed).Operation)
}
