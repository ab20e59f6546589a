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

const (
	oldManager = "manager"
	entryPatch = "patch application/json-patch+json"
)

// createOld makes obj as the old operator does.
func (s *apiServer) createOld(t *testing.T, obj client.Object) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	out, _ := obj.DeepCopyObject().(client.Object)
	require.NoError(t, s.commit(t.Context(), out, func() error { return s.fake.Create(t.Context(), out, client.FieldOwner(oldManager)) }))
}

// update changes an object as another program does.
func (s *apiServer) update(t *testing.T, manager string, obj client.Object, set func(live client.Object)) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	out, _ := obj.DeepCopyObject().(client.Object)
	require.NoError(t, s.fake.Get(t.Context(), client.ObjectKeyFromObject(obj), out))
	set(out)
	require.NoError(t, s.commit(t.Context(), out, func() error { return s.fake.Update(t.Context(), out, client.FieldOwner(manager)) }))
}

// addKey has manager add a key that desired does not have.
func (s *apiServer) addKey(t *testing.T, manager, key string) {
	t.Helper()
	s.update(t, manager, configMap(), func(live client.Object) {
		live.(*corev1.ConfigMap).Data[key] = "x" //nolint:forcetypeassert // configMap is one
	})
}

// legacyConfigMap is configMap as an old operator wrote it, and a key that desired does not have.
func legacyConfigMap() *corev1.ConfigMap {
	return with(configMap(), func(o *corev1.ConfigMap) {
		o.OwnerReferences, o.Data["dropped"] = []metav1.OwnerReference{shopRef()}, "x"
	})
}

func migrated(t *testing.T, e *ensure.Ensurer) ensure.Result[*corev1.ConfigMap] {
	t.Helper()
	return mustEnsure(t, e, configMap(), ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager))
}

// The owner's own update made the object; no apply of desired came before, so nothing drifted.
func TestFirstApplyToAnUpdatedObject(t *testing.T) {
	for name, show := range map[string]view{"complete": faithful, "without managed fields": withoutManagedFields} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.createOld(t, legacyConfigMap())
			e := ensure.New(s.cached(show), s, fieldOwner)
			require.Equal(t, ensure.DesiredChanged, mustEnsure(t, e, configMap(), ensure.ControlledBy(shop())).Cause)
		})
	}
}

// managers are who has entries, as "name operation".
func managers(obj client.Object) []string {
	var found []string
	for _, entry := range obj.GetManagedFields() {
		found = append(found, entry.Manager+" "+string(entry.Operation)+entry.Subresource)
	}
	return found
}

func TestMigrateFromTakesOver(t *testing.T) {
	s := newServer()
	s.createOld(t, legacyConfigMap())
	s.addKey(t, "neighbour", "theirs")
	e := newEnsurer(s)
	result := migrated(t, e)
	require.Equal(t, ensure.Updated, result.Operation)
	require.Equal(t, ensure.Migrated, result.Cause)
	require.Empty(t, cmp.Diff([]string{digestPath}, paths(result.Changes)))
	require.Equal(t, []ensure.KeptField{{Path: "data[dropped]", Manager: oldManager}}, result.Kept)
	require.Empty(t, cmp.Diff(map[string]string{"color": "blue", "shape": "round", "dropped": "x", "theirs": "x"}, result.Live.Data))
	require.ElementsMatch(t, []string{fieldOwner + " Apply", oldManager + " Update", "neighbour Update"}, managers(result.Live))
	requests := s.take()
	require.Equal(t, "apply", requests[1].verb)
	require.Equal(t, entryPatch, requests[2].verb)
	require.Equal(t, fieldOwner, requests[2].options.FieldManager)
	require.Equal(t, "apply", requests[3].verb, "of a dry run that shows the defaults")
	require.Len(t, requests, 4)

	require.Equal(t, ensure.Unchanged, migrated(t, e).Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
}

func TestWithoutMigrateFromWhatIsDroppedStays(t *testing.T) {
	for name, opts := range map[string][]ensure.Option{"no option": nil, "another name": {ensure.MigrateFrom("managers", "Manager")}} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.createOld(t, legacyConfigMap())
			result := mustEnsure(t, newEnsurer(s), configMap(), append(opts, ensure.ControlledBy(shop()))...)
			require.Equal(t, "x", result.Live.Data["dropped"])
			require.NotEqual(t, ensure.Migrated, result.Cause)
			require.Empty(t, cmp.Diff([]string{"get", "apply"}, s.verbs()))
		})
	}
}

// What desired has and drops later goes, whoever set it before.
func TestWhatWasMigratedCanBeDropped(t *testing.T) {
	s := newServer()
	s.createOld(t, legacyConfigMap())
	e := newEnsurer(s)
	migrated(t, e)
	fewer := with(configMap(), func(o *corev1.ConfigMap) { delete(o.Data, "shape") })
	result := mustEnsure(t, e, fewer, ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager))
	require.Empty(t, cmp.Diff(map[string]string{"color": "blue", "dropped": "x"}, result.Live.Data))
	require.Empty(t, result.Kept)
}

// The old operator was run again for a while: each key that it set stays until it is retired.
func TestTheOldOperatorRunsAgain(t *testing.T) {
	for name, show := range map[string]view{"complete": faithful, "without managed fields": withoutManagedFields} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.createOld(t, legacyConfigMap())
			e := ensure.New(s.cached(show), s, fieldOwner)
			require.Equal(t, ensure.Migrated, migrated(t, e).Cause)
			for range 3 {
				s.addKey(t, oldManager, "dropped")
				require.Equal(t, ensure.Unchanged, migrated(t, e).Operation)
				s.take()
				require.Equal(t, ensure.Unchanged, migrated(t, e).Operation)
				require.Empty(t, s.verbs())
				require.Contains(t, live(t, s, configMap()).Data, "dropped")
			}
		})
	}
}

func retired(t *testing.T, e *ensure.Ensurer) ensure.Result[*corev1.ConfigMap] {
	t.Helper()
	return mustEnsure(t, e, configMap(), ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager), ensure.Retire("data[dropped]"))
}

func TestRetire(t *testing.T) {
	for name, show := range map[string]view{"complete": faithful, "without managed fields": withoutManagedFields} {
		for when, isFirst := range map[string]bool{"in the first release": true, "in a later one": false} {
			t.Run(name+", "+when, func(t *testing.T) {
				s := newServer()
				s.createOld(t, legacyConfigMap())
				s.addKey(t, "neighbour", "theirs")
				e := ensure.New(s.cached(show), s, fieldOwner)
				if !isFirst {
					migrated(t, e)
					if name != "complete" { // there, the next apply does it
						s.edit(t, configMap(), `{"data":{"color":"red"}}`)
					}
				}
				s.take()
				result := retired(t, e)
				require.Equal(t, ensure.Migrated, result.Cause)
				require.Contains(t, result.Changes, ensure.Change{Path: "data[dropped]", Manager: oldManager})
				require.Empty(t, result.Kept)
				require.Empty(t, cmp.Diff(map[string]string{"color": "blue", "shape": "round", "theirs": "x"}, result.Live.Data))
				require.NotContains(t, managers(result.Live), oldManager+" Update")
				s.take()
				require.Equal(t, ensure.Unchanged, retired(t, e).Operation)
				require.Empty(t, s.verbs())
				require.Equal(t, ensure.Unchanged, retired(t, ensure.New(s.cached(show), s, fieldOwner)).Operation)
				require.NotContains(t, s.verbs(), entryPatch)
			})
		}
	}
}

func TestRetireOfWhatDesiredHas(t *testing.T) {
	_, err := ensure.Object(t.Context(), newEnsurer(newServer()), configMap(), ensure.Retire("data[color]"))
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.ErrorContains(t, err, "data[color] is retired, so leave it out of desired")
}

func writes(verbs []string) []string {
	var found []string
	for _, verb := range verbs {
		if verb != "get" {
			found = append(found, verb)
		}
	}
	return found
}

func TestMigrateFromTakesNothingElse(t *testing.T) {
	entry := func(change func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{
			Manager: oldManager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: managedfields.NewFields(`{"f:data":{"f:theirs":{}}}`),
		}
		change(&e)
		return e
	}
	cases := map[string]struct {
		reason string
		entry  metav1.ManagedFieldsEntry
	}{
		"a subresource":   {"status and scale are not ours", entry(func(e *metav1.ManagedFieldsEntry) { e.Subresource = "status" })},
		"another manager": {"it is not named", entry(func(e *metav1.ManagedFieldsEntry) { e.Manager = "neighbour" })},
		"status in the main resource": {
			"an apply without it would remove it",
			entry(func(e *metav1.ManagedFieldsEntry) {
				e.FieldsV1 = managedfields.NewFields(`{"f:status":{"f:ready":{}}}`)
			}),
		},
		"unreadable": {
			"nobody knows what it owns",
			entry(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = managedfields.NewFields(`{"f:data":`) }),
		},
		"empty": {"there is nothing to take", entry(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = nil })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, configMap(), ensure.ControlledBy(shop()))
			shown := s.cached(func(live client.Object) client.Object {
				live.SetManagedFields(append(live.GetManagedFields(), tc.entry))
				return live
			})
			require.Equal(t, ensure.Unchanged, migrated(t, ensure.New(shown, s, fieldOwner)).Operation, tc.reason)
			require.NotContains(t, s.verbs(), entryPatch, tc.reason)
		})
	}
}

func TestMigrateFromMakesNothingOurs(t *testing.T) {
	s := newServer()
	s.createOld(t, configMap())
	e := newEnsurer(s)
	_, err := ensure.Object(t.Context(), e, configMap(), ensure.MigrateFrom(oldManager))
	require.ErrorIs(t, err, ensure.ErrForeign)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))

	adopted := mustEnsure(t, e, configMap(), ensure.MigrateFrom(oldManager), ensure.Adopt())
	require.Equal(t, ensure.Migrated, adopted.Cause)
	require.Empty(t, cmp.Diff([]string{"get", "apply", entryPatch}, s.verbs()))
}

func TestMigrationThatMissesItsObject(t *testing.T) {
	failedTest := status(422, metav1.StatusReasonInvalid)
	opts := []ensure.Option{ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager)}
	legacy := func(t *testing.T, answers ...error) *apiServer {
		t.Helper()
		s := newServer()
		s.createOld(t, configMap())
		s.update(t, oldManager, configMap(), func(live client.Object) { live.SetOwnerReferences([]metav1.OwnerReference{shopRef()}) })
		s.answers = append([]error{nil}, answers...) // the apply
		return s
	}
	for name, answer := range map[string]error{"a test failed": failedTest, "409": conflict(), "404": status(404, metav1.StatusReasonNotFound)} {
		t.Run(name, func(t *testing.T) {
			s := legacy(t, answer, answer)
			require.Equal(t, ensure.Migrated, mustEnsure(t, newEnsurer(s), configMap(), opts...).Cause)
			require.Empty(t, cmp.Diff([]string{"get", "apply", entryPatch, "get", entryPatch, "get", entryPatch}, s.verbs()))
		})
	}
	t.Run("five times", func(t *testing.T) {
		s := legacy(t, failedTest, failedTest, failedTest, failedTest, failedTest,
			nil, failedTest, failedTest, failedTest, failedTest, failedTest) // the pass begins anew once
		_, err := ensure.Object(t.Context(), newEnsurer(s), configMap(), opts...)
		require.Equal(t, "Conflict", ensure.Reason(err))
		require.ErrorContains(t, err, `cannot migrate ConfigMap "default/settings"`)
	})
	t.Run("not allowed", func(t *testing.T) {
		s := legacy(t, status(403, metav1.StatusReasonForbidden))
		_, err := ensure.Object(t.Context(), newEnsurer(s), configMap(), opts...)
		require.Equal(t, "Forbidden", ensure.Reason(err))
		require.Empty(t, cmp.Diff([]string{"get", "apply", entryPatch}, s.verbs()))
	})
}

// A cache without read-your-writes shows the old entries a moment longer.
func TestAStaleCopyIsNotMigratedAgain(t *testing.T) {
	s := newServer()
	s.createOld(t, legacyConfigMap())
	stale := live(t, s, configMap())
	e := ensure.New(s.cached(frozen(stale)), s, fieldOwner)
	require.Equal(t, ensure.Migrated, migrated(t, e).Cause)
	s.take()
	require.True(t, migrated(t, e).Stale)
	require.Empty(t, s.verbs())
}

func TestManagersHaveNames(t *testing.T) {
	s := newServer()
	_, err := ensure.Object(t.Context(), newEnsurer(s), configMap(), ensure.MigrateFrom("a", ""))
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.ErrorContains(t, err, "ensure.MigrateFrom needs the names of managers")
	require.Empty(t, s.verbs())
}

// A helper may have nothing to name.
func TestHandoverOfNothing(t *testing.T) {
	s := newServer()
	e := newEnsurer(s)
	require.Equal(t, ensure.Created, mustEnsure(t, e, configMap(), ensure.MigrateFrom(), ensure.Release()).Operation)
	s.edit(t, configMap(), `{"data":{"color":"red"}}`)
	require.Equal(t, ensure.Updated, mustEnsure(t, e, configMap(), ensure.MigrateFrom(), ensure.Release()).Operation)
	require.Empty(t, cmp.Diff([]string{"get", "create", "get", "apply"}, s.verbs()))
}

// An operator that still writes its children by Update, too, reverts its own applies.
func TestAContestWithOneself(t *testing.T) {
	for name, show := range map[string]view{"complete": faithful, "without managed fields": withoutManagedFields} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.createOld(t, legacyConfigMap())
			e := ensure.New(s.cached(show), s, fieldOwner, withClock(newClock()))
			migrated(t, e)
			var err error
			for range 5 {
				require.NoError(t, err)
				s.update(t, oldManager, configMap(), func(live client.Object) {
					live.(*corev1.ConfigMap).Data["color"] = "red" //nolint:forcetypeassert // configMap is one
				})
				_, err = ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(shop()), ensure.MigrateFrom("other", oldManager))
			}
			var contested *ensure.Error
			require.ErrorAs(t, err, &contested)
			require.ErrorIs(t, err, ensure.ErrContested)
			require.Equal(t, oldManager, contested.Rival)
			require.Empty(t, cmp.Diff([]string{"data[color]"}, contested.Paths))
			require.ErrorContains(t, err, "most likely another part of this operator")
		})
	}
}

// A field owner is renamed: the children of its former name are ours, and no others.
func TestFormerFieldOwners(t *testing.T) {
	s := newServer()
	former := ensure.New(s, s, "former-operator")
	full := with(configMap(), func(o *corev1.ConfigMap) { o.Data["dropped"] = "x" })
	mustEnsure(t, former, full)
	s.take()
	_, err := ensure.Object(t.Context(), newEnsurer(s, ensure.FormerFieldOwners("another")), configMap())
	require.ErrorIs(t, err, ensure.ErrForeign)
	s.take()

	e := newEnsurer(s, ensure.FormerFieldOwners("another", "former-operator"))
	result := mustEnsure(t, e, configMap())
	require.Equal(t, ensure.Migrated, result.Cause)
	require.Equal(t, map[string]string{"color": "blue", "shape": "round"}, result.Live.Data)
	require.Len(t, result.Live.Annotations, 2, "one of desired and our digest: that under the former name is gone")
	require.Contains(t, result.Live.Annotations, digestKey)
	require.Contains(t, paths(result.Changes), "data[dropped]")
	require.Empty(t, result.Kept)
	require.Equal(t, []string{fieldOwner + " Apply"}, managers(result.Live))
	require.Empty(t, cmp.Diff([]string{"get", entryPatch, "apply"}, s.verbs()))
	require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap()).Operation)
	require.Empty(t, cmp.Diff([]string{"get"}, s.verbs()))
}

// A later call without ControlledBy.
func TestWithoutControlledByTheOwnerStays(t *testing.T) {
	for name, show := range map[string]view{"complete": faithful, "without managed fields": withoutManagedFields} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			created(t, s, configMap(), ensure.ControlledBy(shop()))
			e := ensure.New(s.cached(show), s, fieldOwner)
			_, err := ensure.Object(t.Context(), e, configMap())
			require.EqualError(t, err, `cannot ensure ConfigMap "default/settings": Foreign: it is controlled by Shop "shop", which decides on its content`)
			result := mustEnsure(t, e, configMap(), ensure.Adopt())
			require.Equal(t, []metav1.OwnerReference{shopRef()}, result.Live.OwnerReferences)
			require.Equal(t, []string{digestPath}, paths(result.Changes))
			s.take()
			require.Equal(t, ensure.Unchanged, mustEnsure(t, e, configMap(), ensure.Adopt()).Operation)
			require.Empty(t, s.verbs())
		})
	}
}

// A dry run tells the same as what is done then.
func TestADryRunOfAMigration(t *testing.T) {
	for name, more := range map[string][]ensure.Option{"all stays": nil, "a key is retired": {ensure.Retire("data[dropped]")}} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.createOld(t, legacyConfigMap())
			opts := append([]ensure.Option{ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager)}, more...)
			told := mustEnsure(t, newEnsurer(s), configMap(), append(opts, ensure.DryRun())...)
			require.Equal(t, []string{oldManager + " Update"}, managers(live(t, s, configMap())))
			done := mustEnsure(t, newEnsurer(s), configMap(), opts...)
			require.Equal(t, ensure.Migrated, told.Cause)
			require.Equal(t, ensure.Updated, told.Operation)
			require.Empty(t, cmp.Diff(done.Changes, told.Changes))
			require.Empty(t, cmp.Diff(done.Kept, told.Kept))
		})
	}
}

// The second write of a migration failed: whoever comes next finishes it, and tells the same.
func TestAMigrationIsFinished(t *testing.T) {
	for when, restart := range map[string]bool{"a restart": true, "no restart": false} {
		t.Run(when, func(t *testing.T) {
			s := newServer()
			s.createOld(t, legacyConfigMap())
			clock := newClock()
			e := newEnsurer(s, withClock(clock))
			s.answers = []error{nil, status(500, metav1.StatusReasonInternalError), status(500, metav1.StatusReasonInternalError)}
			for range 2 {
				_, err := ensure.Object(t.Context(), e, configMap(), ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager))
				require.ErrorIs(t, err, ensure.ErrAPI)
				clock.SetTime(clock.Now().Add(time.Minute))
			}
			if restart {
				e = newEnsurer(s, withClock(clock))
			}
			result := migrated(t, e)
			require.Equal(t, ensure.Migrated, result.Cause)
			require.Equal(t, []ensure.KeptField{{Path: "data[dropped]", Manager: oldManager}}, result.Kept)
			s.take()
			require.Equal(t, ensure.Unchanged, migrated(t, e).Operation)
			require.Empty(t, writes(s.verbs()))
		})
	}
}

// An operator that generates a password must not replace the one that is in use.
func TestTheFirstApplyToASecret(t *testing.T) {
	secret := func(password string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "password"},
			Data:       map[string][]byte{"password": []byte(password), "user": []byte("app")},
		}
	}
	old := secret("in-use")
	old.OwnerReferences = []metav1.OwnerReference{shopRef()}
	delete(old.Data, "user")
	for name, tc := range map[string]struct {
		opts    []ensure.Option
		refused bool
		want    string
	}{
		"the owner's":   {[]ensure.Option{ensure.ControlledBy(shop())}, true, "in-use"},
		"migrated":      {[]ensure.Option{ensure.ControlledBy(shop()), ensure.MigrateFrom(oldManager)}, true, "in-use"},
		"adopted":       {[]ensure.Option{ensure.Adopt()}, true, "in-use"},
		"a dry run":     {[]ensure.Option{ensure.Adopt(), ensure.DryRun()}, true, "in-use"},
		"only set once": {[]ensure.Option{ensure.Adopt(), ensure.Once("data[password]")}, false, "in-use"},
		"allowed":       {[]ensure.Option{ensure.Adopt(), ensure.OverwriteData()}, false, "newer"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.createOld(t, old)
			e := newEnsurer(s)
			_, err := ensure.Object(t.Context(), e, secret("new"), tc.opts...)
			if !tc.refused {
				require.NoError(t, err)
				second := mustEnsure(t, e, secret("newer"), tc.opts...)
				require.Equal(t, tc.want, string(second.Live.Data["password"]))
				return
			}
			require.EqualError(t, err, `cannot ensure Secret "default/password": Refused: it exists, and the first apply would change data[password]: `+
				`name what is only set at creation in ensure.Once, or allow the change with ensure.OverwriteData`)
			require.ErrorIs(t, err, ensure.ErrRefused)
			require.Empty(t, writes(s.verbs()))
			require.Equal(t, tc.want, string(live(t, s, old).Data["password"]))
		})
	}
}
