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

func TestWhatOthersDoCostsAtMostOneRequest(t *testing.T) {
	cases := map[string]struct {
		reason  string
		edit    string
		want    []string
		op      ensure.Operation
		changes []string
	}{
		"foreign label":      {"no business of ours", `{"metadata":{"labels":{"theirs":"x"}}}`, nil, ensure.Unchanged, nil},
		"foreign annotation": {"no business of ours", `{"metadata":{"annotations":{"theirs":"x"}}}`, nil, ensure.Unchanged, nil},
		"foreign finalizer":  {"no business of ours", `{"metadata":{"finalizers":["example.com/x"]}}`, nil, ensure.Unchanged, nil},
		"foreign owner": {
			"no business of ours",
			`{"metadata":{"ownerReferences":[` + shopRefJSON + `,{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"x"}]}}`,
			nil, ensure.Unchanged, nil,
		},
		"foreign content": {
			"whether it is ours only the server knows", `{"data":{"theirs":"x"}}`,
			[]string{"apply"},
			ensure.Unchanged, nil,
		},
		"our content edited": {
			"put right", `{"data":{"color":"red"}}`,
			[]string{"apply"},
			ensure.Updated,
			[]string{"data[color]"},
		},
		"our content removed": {
			"put right", `{"data":{"color":null}}`,
			[]string{"apply"},
			ensure.Updated,
			[]string{"data[color]"},
		},
		"our label edited": {
			"put right", `{"metadata":{"labels":{"app":"x"}}}`,
			[]string{"apply"},
			ensure.Updated,
			[]string{"metadata.labels[app]"},
		},
		"our annotation removed": {
			"put right", `{"metadata":{"annotations":{"note":null}}}`,
			[]string{"apply"},
			ensure.Updated,
			[]string{"metadata.annotations[note]"},
		},
		"our owner removed": {
			"put right, if the owner is still there", `{"metadata":{"ownerReferences":null}}`,
			[]string{"get", "apply"},
			ensure.Updated,
			[]string{"metadata.ownerReferences"},
		},
		"foreign label beside drift": {
			"only what we changed is told", `{"metadata":{"labels":{"theirs":"x"}},"data":{"color":"red"}}`,
			[]string{"apply"},
			ensure.Updated,
			[]string{"data[color]"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			e := ensure.New(s.cached(faithful), s, fieldOwner)
			pass := func() ensure.Result[*corev1.ConfigMap] {
				return mustEnsure(t, e, configMap(), ensure.ControlledBy(shop()))
			}
			pass()
			s.take()
			s.edit(t, configMap(), tc.edit)

			result := pass()
			require.Equal(t, tc.op, result.Operation, tc.reason)
			require.Equal(t, tc.changes, paths(result.Changes))
			if tc.op == ensure.Updated {
				require.Equal(t, ensure.Drifted, result.Cause)
			} else {
				require.Empty(t, result.Cause)
			}
			if tc.want == nil {
				tc.want = []string{}
			}
			require.Empty(t, cmp.Diff(tc.want, s.verbs()))

			again := pass()
			require.Equal(t, ensure.Unchanged, again.Operation)
			require.Empty(t, s.verbs(), "asked once for each change")
		})
	}
}

const shopRefJSON = `{"apiVersion":"example.com/v1","kind":"Shop","name":"shop","uid":"uid-of-shop",` +
	`"controller":true,"blockOwnerDeletion":true}`

func TestAStatusWriteCostsNothing(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	mustEnsure(t, e, childShop())
	open := live(t, s, childShop())
	s.mu.Lock()
	require.NoError(t, s.commit(t.Context(), open, func() error {
		open.SetResourceVersion("")
		open.SetUID("")
		return s.fake.Status().Patch(t.Context(), open, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"open":true}}`)))
	}))
	s.mu.Unlock()
	s.take()

	result := mustEnsure(t, e, childShop())
	require.True(t, result.Live.Status.Open)
	require.Equal(t, ensure.Unchanged, result.Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
}

// After a restart nothing is remembered, and managed fields tell whether anybody
// may have added something inside an atomic part.
func TestARestartAsksOnlyIfSomebodyWroteSince(t *testing.T) {
	own := func(o client.Object) *metav1.ManagedFieldsEntry { return new(o.GetManagedFields()[0]) }
	beside := func(change func(entry *metav1.ManagedFieldsEntry, own metav1.Time)) view {
		return func(live client.Object) client.Object {
			theirs := entry("kubectl", metav1.ManagedFieldsOperationUpdate)
			change(&theirs, *own(live).Time)
			live.SetManagedFields(append(live.GetManagedFields(), theirs))
			return live
		}
	}
	alone := func(change func(own *metav1.ManagedFieldsEntry)) view {
		return func(live client.Object) client.Object {
			entry := own(live)
			change(entry)
			live.SetManagedFields([]metav1.ManagedFieldsEntry{*entry})
			return live
		}
	}
	at := func(own metav1.Time, d time.Duration) *metav1.Time { return new(metav1.NewTime(own.Add(d))) }
	asked, silent := []string{"apply"}, []string{}
	cases := map[string]struct {
		reason string
		show   view
		want   []string
	}{
		"nobody":        {"our entry alone", faithful, silent},
		"nothing known": {"the cache strips managed fields", withoutManagedFields, silent},
		"before us": {
			"our apply has seen it",
			beside(func(e *metav1.ManagedFieldsEntry, own metav1.Time) { e.Time = at(own, -time.Second) }), silent,
		},
		"metadata alone": {
			"such as a finalizer: nothing in it is atomic",
			beside(func(e *metav1.ManagedFieldsEntry, own metav1.Time) {
				e.Time, e.FieldsV1 = at(own, time.Second), managedfields.NewFields(`{"f:metadata":{"f:finalizers":{".":{},"v:\"example.com/row\"":{}}}}`)
			}), silent,
		},
		"metadata among others": {
			"the others count",
			beside(func(e *metav1.ManagedFieldsEntry, own metav1.Time) {
				e.Time, e.FieldsV1 = at(own, time.Second), managedfields.NewFields(`{"f:metadata":{"f:labels":{"f:team":{}}},"f:data":{"f:b":{}}}`)
			}), asked,
		},
		"who knows what": {
			"what cannot be read may be anything",
			beside(func(e *metav1.ManagedFieldsEntry, own metav1.Time) {
				e.Time, e.FieldsV1 = at(own, time.Second), managedfields.NewFields(`{"f:metadata":`)
			}), asked,
		},
		"in the same second": {
			"times are no finer",
			beside(func(e *metav1.ManagedFieldsEntry, own metav1.Time) { e.Time = at(own, 0) }), asked,
		},
		"after us": {
			"it may have added something",
			beside(func(e *metav1.ManagedFieldsEntry, own metav1.Time) { e.Time = at(own, time.Second) }), asked,
		},
		"at no time": {
			"scale leaves such entries",
			beside(func(e *metav1.ManagedFieldsEntry, _ metav1.Time) { e.Time, e.Subresource = nil, "scale" }), asked,
		},
		"status after us": {
			"status is never ours",
			beside(func(e *metav1.ManagedFieldsEntry, own metav1.Time) {
				e.Time, e.Subresource = at(own, time.Hour), "status"
			}), silent,
		},
		"our own update": {
			"what we did before we applied belongs to the apply",
			beside(func(e *metav1.ManagedFieldsEntry, own metav1.Time) {
				e.Manager, e.Time = fieldOwner, at(own, time.Hour)
			}), asked,
		},
		"our entry without a time": {
			"nothing to compare with",
			alone(func(own *metav1.ManagedFieldsEntry) { own.Time = nil }), asked,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, configMap())
			e := ensure.New(s.cached(tc.show), s, fieldOwner)

			result := mustEnsure(t, e, configMap())
			require.Equal(t, ensure.Unchanged, result.Operation)
			require.Empty(t, cmp.Diff(tc.want, s.verbs()), tc.reason)
			mustEnsure(t, e, configMap())
			require.Empty(t, s.verbs(), "the answer is remembered")
		})
	}
}

func TestARestartSeesWhatWasUndoneMeanwhile(t *testing.T) {
	cases := map[string]struct {
		reason, edit string
		cause        ensure.Cause
	}{
		"content":    {"live does not hold what desired says", `{"data":{"color":"red"}}`, ensure.Drifted},
		"label":      {"labels are compared too", `{"metadata":{"labels":{"app":null}}}`, ensure.Drifted},
		"the digest": {"it has to be put back", `{"metadata":{"annotations":{"` + digestKey + `":null}}}`, ensure.Drifted},
		"another digest": {
			"it says that something else was applied", `{"metadata":{"annotations":{"` + digestKey + `":"v1-0"}},"data":{"color":"red"}}`,
			ensure.DesiredChanged,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, configMap())
			s.edit(t, configMap(), tc.edit)
			e := newEnsurer(s)

			result := mustEnsure(t, e, configMap())
			require.Equal(t, ensure.Updated, result.Operation, tc.reason)
			require.Equal(t, tc.cause, result.Cause)
			s.take()
			require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
			require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
		})
	}
}

// A webhook that rewrites what we send is part of what the server confirmed. (The API server has a field that
// a webhook adds owned by nobody, which the fake client does not do, so this one adds none.)
func TestAWebhooksRewritingIsNoDrift(t *testing.T) {
	s := newServer()
	s.admit = func(body map[string]any) {
		template, _ := body["spec"].(map[string]any)["template"].(map[string]any)
		containers, _ := template["spec"].(map[string]any)["containers"].([]any)
		container, _ := containers[0].(map[string]any)
		container["image"] = "mirror.local/" + container["image"].(string)
	}
	e := ensure.New(s.cached(faithful), s, fieldOwner)
	require.Equal(t, "mirror.local/nginx:1.29", mustEnsure(t, e, deployment()).Live.Spec.Template.Spec.Containers[0].Image)
	s.take()

	for range 3 {
		require.Equal(t, ensure.Unchanged, mustEnsure(t, e, deployment()).Operation)
	}
	require.Empty(t, s.verbs())

	restarted := ensure.New(s.cached(faithful), s, fieldOwner)
	for range 3 {
		require.Equal(t, ensure.Unchanged, mustEnsure(t, restarted, deployment()).Operation)
	}
	require.Empty(t, cmp.Diff([]string{"apply"}, s.verbs()), "the server is asked once")

	s.edit(t, deployment(), `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:1.29"}]}}}}`)
	result := mustEnsure(t, restarted, deployment())
	require.Equal(t, ensure.Updated, result.Operation, "what the server had confirmed is gone, though desired has this image")
	require.Equal(t, ensure.Drifted, result.Cause)
}

func TestTwoEnsurersDoNotForgetEachOthersWork(t *testing.T) {
	s := newServer()
	first, second := newEnsurer(s), newEnsurer(s)
	mustEnsure(t, first, configMap())
	changed := configMap()
	changed.Data["color"] = "red"
	require.Equal(t, ensure.DesiredChanged, mustEnsure(t, second, changed).Cause)
	require.Equal(t, ensure.Drifted, mustEnsure(t, first, configMap()).Cause, "its desired is the same")
	require.Equal(t, "blue", live(t, s, configMap()).Data["color"])
}

func TestAnObjectDeletedBySomebodyIsMadeAgain(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	first := mustEnsure(t, e, configMap()).Live
	s.remove(t, configMap())

	second := mustEnsure(t, e, configMap())
	require.Equal(t, ensure.Created, second.Operation)
	require.NotEqual(t, first.UID, second.Live.UID)
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	require.Equal(t, ensure.Drifted, mustEnsure(t, e, configMap()).Cause)
}

// A copy that stays behind for long comes from a watch that stopped: the server is
// asked, and not in a loop.
func TestACopyThatStaysBehindIsNotTrustedForEver(t *testing.T) {
	s := newServer()
	clock := newClock()
	show := view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner, withClock(clock))
	old := mustEnsure(t, e, configMap()).Live
	red := configMap()
	red.Data["color"] = "red"
	mustEnsure(t, e, red)
	show = frozen(old)
	s.take()

	require.True(t, mustEnsure(t, e, red).Stale)
	require.Empty(t, s.verbs())
	clock.SetTime(clock.Now().Add(2 * time.Minute))
	require.False(t, mustEnsure(t, e, red).Stale)
	require.Equal(t, []string{"apply"}, s.verbs())
	require.True(t, mustEnsure(t, e, red).Stale, "it has just been asked")
}

// A cache may still show the object that was there before, as it was.
func TestACopyOfThePredecessorIsStale(t *testing.T) {
	s := newServer()
	show := view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner)
	old := mustEnsure(t, e, configMap()).Live
	s.remove(t, configMap())
	mustEnsure(t, e, configMap())
	show = frozen(old)

	result := mustEnsure(t, e, configMap())
	require.True(t, result.Stale)
	require.Equal(t, ensure.Unchanged, result.Operation)
}

// Whoever resets the managed fields makes the server forget what to remove later.
func TestResetManagedFieldsAreOwnedAgain(t *testing.T) {
	s := newServer()
	strangers := view(faithful)
	e := ensure.New(s.cached(func(live client.Object) client.Object { return strangers(live) }), s, fieldOwner)
	mustEnsure(t, e, configMap())
	strangers = func(live client.Object) client.Object {
		live.SetResourceVersion(live.GetResourceVersion() + "0")
		live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "stranger", Operation: metav1.ManagedFieldsOperationUpdate}})
		return live
	}
	s.take()
	mustEnsure(t, e, configMap())
	require.Equal(t, []string{"apply"}, s.verbs())
}

// After a restart, an object without managed fields is applied once if the cache shows those of another one of its kind,
// before or after.
func TestEmptiedManagedFieldsAreFoundAfterARestart(t *testing.T) {
	other := with(configMap(), func(o *corev1.ConfigMap) { o.Name = "other" })
	for name, before := range map[string]bool{"the other one is read before": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, configMap())
			created(t, s, other)
			e := ensure.New(s.cached(func(live client.Object) client.Object {
				if live.GetName() == "other" {
					return live
				}
				return withoutManagedFields(live)
			}), s, fieldOwner)
			if !before {
				require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
			}
			require.Equal(t, ensure.Unchanged, mustEnsure(t, e, other).Operation)
			require.Empty(t, s.verbs())
			mustEnsure(t, e, configMap())
			require.Empty(t, cmp.Diff([]string{"apply"}, s.verbs()))
			mustEnsure(t, e, configMap())
			require.Empty(t, s.verbs())
		})
	}
}

// A cache that showed managed fields once does not strip them.
func TestEmptiedManagedFieldsAreOwnedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		before view
		want   []string
	}{
		"a cache that shows them":  {faithful, []string{"apply"}},
		"a cache that strips them": {withoutManagedFields, []string{}}, // which our own write showed
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			show := tc.before
			e := ensure.New(s.cached(func(live client.Object) client.Object { return show(live) }), s, fieldOwner)
			mustEnsure(t, e, configMap())
			mustEnsure(t, e, configMap())
			show = func(live client.Object) client.Object {
				live.SetResourceVersion(live.GetResourceVersion() + "0")
				return withoutManagedFields(live)
			}
			s.take()
			mustEnsure(t, e, configMap())
			require.Empty(t, cmp.Diff(tc.want, s.verbs()))
		})
	}
}
