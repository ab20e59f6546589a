package once_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
)

// forms runs a test with typed and unstructured objects.
func forms(t *testing.T, run func(t *testing.T, typed bool)) {
	t.Helper()
	for _, typed := range []bool{true, false} {
		t.Run(fmt.Sprintf("typed %v", typed), func(t *testing.T) { run(t, typed) })
	}
}

// TestTheFirstPasswordStays: whatever the cache shows.
func TestTheFirstPasswordStays(t *testing.T) {
	for name, show := range cacheViews {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, typed bool) {
				f := newFixture(t, show)
				f.typed = typed
				f.mustEnsure(ensure.Created, f.secret("app"), password)
				first := f.generated[0]

				mark := shared.Mark()
				for range 3 {
					f.mustEnsure(ensure.Unchanged, f.secret("app"), password)
				}
				require.Zero(t, f.writes(mark))

				res := f.mustEnsure(ensure.Updated, f.secret("owner"), password)
				require.Equal(t, ensure.DesiredChanged, res.Cause)
				require.Equal(t, map[string]string{"user": "owner", "password": first}, f.data())
				require.Equal(t, 2, f.writes(mark), "the password is given up before")

				f.mustEnsure(ensure.Updated, f.secret("admin"), password)
				require.Equal(t, map[string]string{"user": "admin", "password": first}, f.data())
				require.Equal(t, 3, f.writes(mark))

				f.restart()
				f.mustEnsure(ensure.Updated, f.secret("root"), password)
				require.Equal(t, map[string]string{"user": "root", "password": first}, f.data())
				refused := map[string]int{"nothing": 1, "lagging": 1}[name] // a creation, or a patch of old managed fields
				require.Equal(t, 4+refused, f.writes(mark))
			})
		})
	}
}

// TestARotationStays: a user's password is neither undone nor asked about.
func TestARotationStays(t *testing.T) {
	rotations := map[string]func(f *fixture){
		"by an update": func(f *fixture) { f.rotate("theirs") },
		"by an apply": func(f *fixture) {
			obj := &corev1.Secret{}
			obj.Namespace, obj.Name = f.namespace, "credentials"
			body := `{"apiVersion": "v1", "kind": "Secret", "data": {"password": "dGhlaXJz"}}`
			require.NoError(f.t, f.admin.Patch(f.t.Context(), obj, client.RawPatch(types.ApplyPatchType, []byte(body)),
				client.FieldOwner("kubectl-edit"), client.ForceOwnership))
		},
	}
	for name, show := range cacheViews {
		for how, rotate := range rotations {
			for _, early := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, before the first apply %v", name, how, early), func(t *testing.T) {
					f := newFixture(t, show)
					f.mustEnsure(ensure.Created, f.secret("app"), password)
					if !early {
						f.mustEnsure(ensure.Updated, f.secret("owner"), password)
					}
					user := f.data()["user"]
					rotate(f)
					mark := shared.Mark()
					for range 2 {
						f.mustEnsure(ensure.Unchanged, f.secret(user), password)
					}
					require.Zero(t, f.writes(mark))
					f.mustEnsure(ensure.Updated, f.secret("admin"), password)
					require.Equal(t, map[string]string{"user": "admin", "password": "theirs"}, f.data())
					f.restart()
					f.mustEnsure(ensure.Updated, f.secret("root"), password)
					require.Equal(t, map[string]string{"user": "root", "password": "theirs"}, f.data())
				})
			}
		}
	}
}

// TestARotationInBetween comes right before one of the requests of an apply.
func TestARotationInBetween(t *testing.T) {
	for name, show := range cacheViews {
		for nth := 1; nth <= 2; nth++ {
			t.Run(fmt.Sprintf("%s, request %d", name, nth), func(t *testing.T) {
				f := newFixture(t, show)
				f.mustEnsure(ensure.Created, f.secret("app"), password)
				f.client.patches = 0
				f.client.before = func(n int) {
					if n == nth {
						f.rotate("theirs")
					}
				}
				f.mustEnsure(ensure.Updated, f.secret("owner"), password)
				require.Equal(t, map[string]string{"user": "owner", "password": "theirs"}, f.data())
			})
		}
	}
}

// TestTheProgramDies: the process ends after a request, before the answer arrives.
func TestTheProgramDies(t *testing.T) {
	for name, show := range cacheViews {
		for nth := 1; nth <= 3; nth++ {
			t.Run(fmt.Sprintf("%s, after request %d", name, nth), func(t *testing.T) {
				forms(t, func(t *testing.T, typed bool) {
					f := newFixture(t, show)
					f.typed = typed
					f.client.after = func(n int) error {
						if n == nth {
							return errKilled
						}
						return nil
					}
					died := false
					for _, user := range []string{"app", "owner"} {
						_, err := f.ensure(f.secret(user), password)
						if err == nil {
							continue
						}
						require.ErrorIs(t, err, errKilled)
						died = true
						f.restart()
						_, err = f.ensure(f.secret(user), password)
						require.NoError(t, err)
					}
					require.True(t, died)
					f.mustEnsure(ensure.Updated, f.secret("admin"), password)
					require.Equal(t, map[string]string{"user": "admin", "password": f.generated[0]}, f.data())
				})
			})
		}
	}
}

// TestWithoutOnceBefore: the password was applied in each pass until now.
func TestWithoutOnceBefore(t *testing.T) {
	for name, show := range cacheViews {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, typed bool) {
				f := newFixture(t, show)
				f.typed = typed
				f.mustEnsure(ensure.Created, f.secret("app"))
				f.mustEnsure(ensure.Updated, f.secret("app"))
				second := f.generated[1]
				f.restart()
				_, err := f.ensure(f.secret("app"), password)
				require.NoError(t, err)
				require.Equal(t, map[string]string{"user": "app", "password": second}, f.data())
				f.mustEnsure(ensure.Unchanged, f.secret("app"), password)
				f.mustEnsure(ensure.Updated, f.secret("owner"), password)
				require.Equal(t, map[string]string{"user": "owner", "password": second}, f.data())

				f.mustEnsure(ensure.Updated, f.secret("owner"))
				require.Equal(t, f.generated[len(f.generated)-1], f.data()["password"], "without Once it is applied")
			})
		})
	}
}

// TestADigestIsRemoved by a user, so that desired is applied once more.
func TestADigestIsRemoved(t *testing.T) {
	for name, show := range cacheViews {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, show)
			f.mustEnsure(ensure.Created, f.secret("app"), password)
			for range 2 {
				f.patch(`{"metadata": {"annotations": {"spec-hash.trueup-go.github.io/` + fieldOwner + `": null}}}`)
				_, err := f.ensure(f.secret("app"), password)
				require.NoError(t, err)
				require.Equal(t, map[string]string{"user": "app", "password": f.generated[0]}, f.data())
				f.restart()
			}
		})
	}
}

// TestWhatIsAroundIsDropped: the password has no owner, and the server would remove it with the
// last key beside it.
func TestWhatIsAroundIsDropped(t *testing.T) {
	for name, show := range cacheViews {
		t.Run(name, func(t *testing.T) {
			for applied := range 2 {
				f := newFixture(t, show)
				f.mustEnsure(ensure.Created, f.secret("app"), password)
				for i := range applied {
					f.mustEnsure(ensure.Updated, f.secret(fmt.Sprint("user", i)), password)
				}
				bare := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "credentials"}}
				f.mustEnsure(ensure.Updated, bare, password)
				require.Equal(t, map[string]string{"password": f.generated[0]}, f.data())
				for _, text := range []string{"a", "b"} {
					bare.Annotations = map[string]string{"note": text}
					f.mustEnsure(ensure.Updated, bare, password)
					require.Equal(t, map[string]string{"password": f.generated[0]}, f.data())
				}
				f.mustEnsure(ensure.Updated, f.secret("again"), password)
				require.Equal(t, map[string]string{"user": "again", "password": f.generated[0]}, f.data())
			}
		})
	}
}

// TestAllOfIt: a whole map is made once.
func TestAllOfIt(t *testing.T) {
	forms(t, func(t *testing.T, typed bool) {
		f := newFixture(t, cacheViews["faithful"])
		f.typed = typed
		f.mustEnsure(ensure.Created, f.secret("app"), ensure.Once("data"))
		f.mustEnsure(ensure.Unchanged, f.secret("owner"), ensure.Once("data"))
		labelled := f.secret("admin")
		labelled.SetLabels(map[string]string{"a": "b"})
		f.mustEnsure(ensure.Updated, labelled, ensure.Once("data"))
		require.Equal(t, map[string]string{"user": "app", "password": f.generated[0]}, f.data())
		f.patch(`{"data": null}`)
		f.mustEnsure(ensure.Unchanged, labelled, ensure.Once("data"))
		require.Empty(t, f.data())
	})
}

// TestSomebodyDeletesIt: the new object has the content of desired.
func TestSomebodyDeletesIt(t *testing.T) {
	f := newFixture(t, cacheViews["faithful"])
	f.mustEnsure(ensure.Created, f.secret("app"), password)
	obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "credentials"}}
	require.NoError(t, f.admin.Delete(t.Context(), obj))
	f.mustEnsure(ensure.Created, f.secret("app"), password)
	require.Equal(t, f.generated[1], f.data()["password"])
}

// TestWhatOthersMade: an object of another program is adopted or migrated without its password.
func TestWhatOthersMade(t *testing.T) {
	cases := map[string][]ensure.Option{
		"adopted":  {password, ensure.Adopt(), ensure.OverwriteData()},
		"migrated": {password, ensure.Adopt(), ensure.OverwriteData(), ensure.MigrateFrom("old-operator")},
	}
	for name, opts := range cases {
		for cache, show := range cacheViews {
			t.Run(name+", "+cache, func(t *testing.T) {
				f := newFixture(t, show)
				old := f.secret("app").(*corev1.Secret)
				old.Data["dropped"] = []byte("x")
				require.NoError(t, f.admin.Create(t.Context(), old, client.FieldOwner("old-operator")))
				f.mustEnsure(ensure.Updated, f.secret("owner"), opts...)
				f.mustEnsure(ensure.Updated, f.secret("admin"), opts...)
				data := f.data()
				require.Equal(t, f.generated[0], data["password"])
				require.Equal(t, "admin", data["user"])
				require.Equal(t, "x", data["dropped"], "nothing is removed")
				bare := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "credentials"}}
				f.mustEnsure(ensure.Updated, bare, opts...)
				require.Equal(t, f.generated[0], f.data()["password"])
				require.Contains(t, f.owned("old-operator"), "f:password", "it is left to whom it belongs")
				mark := shared.Mark()
				f.mustEnsure(ensure.Unchanged, bare, opts...)
				require.Zero(t, f.writes(mark))
			})
		}
	}
}

// TestIfMissingBehindACache: the cache does not show the object. A user's object may stay as it
// is, our own is reported, and no pass tries to create the object again.
func TestIfMissingBehindACache(t *testing.T) {
	for name, isOurs := range map[string]bool{"ours": true, "theirs": false} {
		t.Run(name, func(t *testing.T) {
			f, clock := newFixture(t, cacheViews["nothing"]), clocktesting.NewFakePassiveClock(time.Now())
			f.ensurer = ensure.New(f.client, f.client.Client, fieldOwner, testclock.With[ensure.Setting](clock))
			if !isOurs {
				require.NoError(t, f.admin.Create(t.Context(), f.secret("theirs")))
			}
			for range 2 {
				_, err := f.ensure(f.secret("app"), ensure.IfMissing())
				require.NoError(t, err)
			}
			mark := shared.Mark()
			for range 2 {
				clock.SetTime(clock.Now().Add(2 * time.Minute))
				if _, err := f.ensure(f.secret("app"), ensure.IfMissing()); isOurs {
					require.ErrorIs(t, err, ensure.ErrHidden)
				} else {
					require.NoError(t, err)
				}
			}
			require.Zero(t, f.writes(mark))
		})
	}
}

// TestADryRun: a dry run reports the changes of an apply and changes nothing.
func TestADryRun(t *testing.T) {
	f := newFixture(t, cacheViews["faithful"])
	created := f.mustEnsure(ensure.Created, f.secret("app"), password)
	res := f.mustEnsure(ensure.Updated, f.secret("owner"), password, ensure.DryRun())
	require.Contains(t, fmt.Sprint(res.Changes), "data[user]")
	require.Len(t, res.Changes, 2, "that and the digest: %v", res.Changes)
	live := &corev1.Secret{}
	require.NoError(t, f.admin.Get(t.Context(), f.key("credentials"), live))
	require.Equal(t, created.Live.GetResourceVersion(), live.ResourceVersion)
}

// TestStringData is kept in data by the server.
func TestStringData(t *testing.T) {
	f := newFixture(t, cacheViews["faithful"])
	desired := func(user string) client.Object {
		secret := f.secret(user).(*corev1.Secret)
		secret.StringData = map[string]string{"password": string(secret.Data["password"])}
		delete(secret.Data, "password")
		return secret
	}
	_, err := f.ensure(desired("app"), ensure.Once("stringData[password]"))
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.ErrorContains(t, err, "the API server keeps it in data")
	f.mustEnsure(ensure.Created, desired("app"), password)
	f.mustEnsure(ensure.Unchanged, desired("app"), password)
	f.mustEnsure(ensure.Updated, desired("owner"), password)
	require.Equal(t, map[string]string{"user": "owner", "password": f.generated[1]}, f.data())
}

// TestALabel is made once, too.
func TestALabel(t *testing.T) {
	forms(t, func(t *testing.T, typed bool) {
		f := newFixture(t, cacheViews["faithful"])
		f.typed = typed
		instance := ensure.Once("metadata.labels[instance]", "metadata.annotations[example.com/made-by]", "data[password]")
		for i, want := range []ensure.Operation{ensure.Created, ensure.Unchanged, ensure.Updated} {
			desired := f.secret([]string{"app", "app", "owner"}[i])
			desired.SetLabels(map[string]string{"app": "db", "instance": fmt.Sprint("i", i)})
			desired.SetAnnotations(map[string]string{"example.com/made-by": fmt.Sprint("v", i)})
			res := f.mustEnsure(want, desired, instance)
			require.Equal(t, map[string]string{"app": "db", "instance": "i0"}, res.Live.GetLabels())
			require.Equal(t, "v0", res.Live.GetAnnotations()["example.com/made-by"])
		}
	})
}
