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
	for name, show := range views {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, typed bool) {
				v := newVault(t, show)
				v.typed = typed
				v.mustPass(ensure.Created, v.secret("app"), password)
				first := v.generated[0]

				mark := shared.Mark()
				for range 3 {
					v.mustPass(ensure.Unchanged, v.secret("app"), password)
				}
				require.Zero(t, v.writes(mark))

				res := v.mustPass(ensure.Updated, v.secret("owner"), password)
				require.Equal(t, ensure.DesiredChanged, res.Cause)
				require.Equal(t, map[string]string{"user": "owner", "password": first}, v.data())
				require.Equal(t, 2, v.writes(mark), "the password is given up before")

				v.mustPass(ensure.Updated, v.secret("admin"), password)
				require.Equal(t, map[string]string{"user": "admin", "password": first}, v.data())
				require.Equal(t, 3, v.writes(mark))

				v.restart()
				v.mustPass(ensure.Updated, v.secret("root"), password)
				require.Equal(t, map[string]string{"user": "root", "password": first}, v.data())
				refused := map[string]int{"nothing": 1, "lagging": 1}[name] // a creation, or a patch of old managed fields
				require.Equal(t, 4+refused, v.writes(mark))
			})
		})
	}
}

// TestARotationStays: a person's password is neither undone nor asked about.
func TestARotationStays(t *testing.T) {
	rotations := map[string]func(v *vault){
		"by an update": func(v *vault) { v.rotate("theirs") },
		"by an apply": func(v *vault) {
			obj := &corev1.Secret{}
			obj.Namespace, obj.Name = v.namespace, "credentials"
			body := `{"apiVersion": "v1", "kind": "Secret", "data": {"password": "dGhlaXJz"}}`
			require.NoError(v.t, v.person.Patch(v.t.Context(), obj, client.RawPatch(types.ApplyPatchType, []byte(body)),
				client.FieldOwner("person"), client.ForceOwnership))
		},
	}
	for name, show := range views {
		for how, rotate := range rotations {
			for _, early := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, before the first apply %v", name, how, early), func(t *testing.T) {
					v := newVault(t, show)
					v.mustPass(ensure.Created, v.secret("app"), password)
					if !early {
						v.mustPass(ensure.Updated, v.secret("owner"), password)
					}
					user := v.data()["user"]
					rotate(v)
					mark := shared.Mark()
					for range 2 {
						v.mustPass(ensure.Unchanged, v.secret(user), password)
					}
					require.Zero(t, v.writes(mark))
					v.mustPass(ensure.Updated, v.secret("admin"), password)
					require.Equal(t, map[string]string{"user": "admin", "password": "theirs"}, v.data())
					v.restart()
					v.mustPass(ensure.Updated, v.secret("root"), password)
					require.Equal(t, map[string]string{"user": "root", "password": "theirs"}, v.data())
				})
			}
		}
	}
}

// TestARotationInBetween comes right before one of the requests of an apply.
func TestARotationInBetween(t *testing.T) {
	for name, show := range views {
		for nth := 1; nth <= 2; nth++ {
			t.Run(fmt.Sprintf("%s, request %d", name, nth), func(t *testing.T) {
				v := newVault(t, show)
				v.mustPass(ensure.Created, v.secret("app"), password)
				v.lens.nth = 0
				v.lens.before = func(n int) {
					if n == nth {
						v.rotate("theirs")
					}
				}
				v.mustPass(ensure.Updated, v.secret("owner"), password)
				require.Equal(t, map[string]string{"user": "owner", "password": "theirs"}, v.data())
			})
		}
	}
}

// TestTheProgramDies: the process ends after a request, before the answer arrives.
func TestTheProgramDies(t *testing.T) {
	for name, show := range views {
		for nth := 1; nth <= 3; nth++ {
			t.Run(fmt.Sprintf("%s, after request %d", name, nth), func(t *testing.T) {
				forms(t, func(t *testing.T, typed bool) {
					v := newVault(t, show)
					v.typed = typed
					v.lens.after = func(n int) error {
						if n == nth {
							return errDied
						}
						return nil
					}
					died := false
					for _, user := range []string{"app", "owner"} {
						_, err := v.pass(v.secret(user), password)
						if err == nil {
							continue
						}
						require.ErrorIs(t, err, errDied)
						died = true
						v.restart()
						_, err = v.pass(v.secret(user), password)
						require.NoError(t, err)
					}
					require.True(t, died)
					v.mustPass(ensure.Updated, v.secret("admin"), password)
					require.Equal(t, map[string]string{"user": "admin", "password": v.generated[0]}, v.data())
				})
			})
		}
	}
}

// TestWithoutOnceBefore: the password was applied in each pass until now.
func TestWithoutOnceBefore(t *testing.T) {
	for name, show := range views {
		t.Run(name, func(t *testing.T) {
			forms(t, func(t *testing.T, typed bool) {
				v := newVault(t, show)
				v.typed = typed
				v.mustPass(ensure.Created, v.secret("app"))
				v.mustPass(ensure.Updated, v.secret("app"))
				second := v.generated[1]
				v.restart()
				_, err := v.pass(v.secret("app"), password)
				require.NoError(t, err)
				require.Equal(t, map[string]string{"user": "app", "password": second}, v.data())
				v.mustPass(ensure.Unchanged, v.secret("app"), password)
				v.mustPass(ensure.Updated, v.secret("owner"), password)
				require.Equal(t, map[string]string{"user": "owner", "password": second}, v.data())

				v.mustPass(ensure.Updated, v.secret("owner"))
				require.Equal(t, v.generated[len(v.generated)-1], v.data()["password"], "without Once it is applied")
			})
		})
	}
}

// TestADigestIsRemoved by a person, so that desired is applied once more.
func TestADigestIsRemoved(t *testing.T) {
	for name, show := range views {
		t.Run(name, func(t *testing.T) {
			v := newVault(t, show)
			v.mustPass(ensure.Created, v.secret("app"), password)
			for range 2 {
				v.patch(`{"metadata": {"annotations": {"spec-hash.trueup-go.github.io/` + fieldOwner + `": null}}}`)
				_, err := v.pass(v.secret("app"), password)
				require.NoError(t, err)
				require.Equal(t, map[string]string{"user": "app", "password": v.generated[0]}, v.data())
				v.restart()
			}
		})
	}
}

// TestWhatIsAroundIsDropped: the password has no owner, and the server would remove it with the
// last key beside it.
func TestWhatIsAroundIsDropped(t *testing.T) {
	for name, show := range views {
		t.Run(name, func(t *testing.T) {
			for applied := range 2 {
				v := newVault(t, show)
				v.mustPass(ensure.Created, v.secret("app"), password)
				for i := range applied {
					v.mustPass(ensure.Updated, v.secret(fmt.Sprint("user", i)), password)
				}
				bare := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: "credentials"}}
				v.mustPass(ensure.Updated, bare, password)
				require.Equal(t, map[string]string{"password": v.generated[0]}, v.data())
				for _, text := range []string{"a", "b"} {
					bare.Annotations = map[string]string{"note": text}
					v.mustPass(ensure.Updated, bare, password)
					require.Equal(t, map[string]string{"password": v.generated[0]}, v.data())
				}
				v.mustPass(ensure.Updated, v.secret("again"), password)
				require.Equal(t, map[string]string{"user": "again", "password": v.generated[0]}, v.data())
			}
		})
	}
}

// TestAllOfIt: a whole map is made once.
func TestAllOfIt(t *testing.T) {
	forms(t, func(t *testing.T, typed bool) {
		v := newVault(t, views["faithful"])
		v.typed = typed
		v.mustPass(ensure.Created, v.secret("app"), ensure.Once("data"))
		v.mustPass(ensure.Unchanged, v.secret("owner"), ensure.Once("data"))
		labelled := v.secret("admin")
		labelled.SetLabels(map[string]string{"a": "b"})
		v.mustPass(ensure.Updated, labelled, ensure.Once("data"))
		require.Equal(t, map[string]string{"user": "app", "password": v.generated[0]}, v.data())
		v.patch(`{"data": null}`)
		v.mustPass(ensure.Unchanged, labelled, ensure.Once("data"))
		require.Empty(t, v.data())
	})
}

// TestSomebodyDeletesIt: the new object has the content of desired.
func TestSomebodyDeletesIt(t *testing.T) {
	v := newVault(t, views["faithful"])
	v.mustPass(ensure.Created, v.secret("app"), password)
	obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: "credentials"}}
	require.NoError(t, v.person.Delete(t.Context(), obj))
	v.mustPass(ensure.Created, v.secret("app"), password)
	require.Equal(t, v.generated[1], v.data()["password"])
}

// TestWhatOthersMade: an object of another program is adopted or migrated without its password.
func TestWhatOthersMade(t *testing.T) {
	cases := map[string][]ensure.Option{
		"adopted":  {password, ensure.Adopt()},
		"migrated": {password, ensure.Adopt(), ensure.MigrateFrom("old-operator")},
	}
	for name, opts := range cases {
		for cache, show := range views {
			t.Run(name+", "+cache, func(t *testing.T) {
				v := newVault(t, show)
				old := v.secret("app").(*corev1.Secret)
				old.Data["dropped"] = []byte("x")
				require.NoError(t, v.person.Create(t.Context(), old, client.FieldOwner("old-operator")))
				v.mustPass(ensure.Updated, v.secret("owner"), opts...)
				v.mustPass(ensure.Updated, v.secret("admin"), opts...)
				data := v.data()
				require.Equal(t, v.generated[0], data["password"])
				require.Equal(t, "admin", data["user"])
				require.Equal(t, name == "adopted", data["dropped"] == "x")
				bare := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: "credentials"}}
				v.mustPass(ensure.Updated, bare, opts...)
				require.Equal(t, v.generated[0], v.data()["password"])
				require.Contains(t, v.owned("old-operator"), "f:password", "it is left to whom it belongs")
				mark := shared.Mark()
				v.mustPass(ensure.Unchanged, bare, opts...)
				require.Zero(t, v.writes(mark))
			})
		}
	}
}

// TestIfMissingBehindACache: the cache does not show the object. A person's object may stay as it
// is, our own is reported, and no pass tries to create the object again.
func TestIfMissingBehindACache(t *testing.T) {
	for name, isOurs := range map[string]bool{"ours": true, "theirs": false} {
		t.Run(name, func(t *testing.T) {
			v, clock := newVault(t, views["nothing"]), clocktesting.NewFakePassiveClock(time.Now())
			v.ensurer = ensure.New(v.lens, v.lens.Client, fieldOwner, ensure.WithClock(clock))
			if !isOurs {
				require.NoError(t, v.person.Create(t.Context(), v.secret("theirs")))
			}
			for range 2 {
				_, err := v.pass(v.secret("app"), ensure.IfMissing())
				require.NoError(t, err)
			}
			mark := shared.Mark()
			for range 2 {
				clock.SetTime(clock.Now().Add(2 * time.Minute))
				if _, err := v.pass(v.secret("app"), ensure.IfMissing()); isOurs {
					require.ErrorIs(t, err, ensure.ErrHidden)
				} else {
					require.NoError(t, err)
				}
			}
			require.Zero(t, v.writes(mark))
		})
	}
}

// TestADryRun: a dry run reports the changes of an apply and changes nothing.
func TestADryRun(t *testing.T) {
	v := newVault(t, views["faithful"])
	created := v.mustPass(ensure.Created, v.secret("app"), password)
	res := v.mustPass(ensure.Updated, v.secret("owner"), password, ensure.DryRun())
	require.Contains(t, fmt.Sprint(res.Changes), "data[user]")
	require.Len(t, res.Changes, 2, "that and the digest: %v", res.Changes)
	live := &corev1.Secret{}
	require.NoError(t, v.person.Get(t.Context(), v.name("credentials"), live))
	require.Equal(t, created.Live.GetResourceVersion(), live.ResourceVersion)
}

// TestStringData is kept in data by the server.
func TestStringData(t *testing.T) {
	v := newVault(t, views["faithful"])
	desired := func(user string) client.Object {
		secret := v.secret(user).(*corev1.Secret)
		secret.StringData = map[string]string{"password": string(secret.Data["password"])}
		delete(secret.Data, "password")
		return secret
	}
	_, err := v.pass(desired("app"), ensure.Once("stringData[password]"))
	require.ErrorIs(t, err, ensure.ErrRefused)
	require.ErrorContains(t, err, "the API server keeps it in data")
	v.mustPass(ensure.Created, desired("app"), password)
	v.mustPass(ensure.Unchanged, desired("app"), password)
	v.mustPass(ensure.Updated, desired("owner"), password)
	require.Equal(t, map[string]string{"user": "owner", "password": v.generated[1]}, v.data())
}

// TestALabel is made once, too.
func TestALabel(t *testing.T) {
	forms(t, func(t *testing.T, typed bool) {
		v := newVault(t, views["faithful"])
		v.typed = typed
		instance := ensure.Once("metadata.labels[instance]", "metadata.annotations[example.com/made-by]", "data[password]")
		for i, want := range []ensure.Operation{ensure.Created, ensure.Unchanged, ensure.Updated} {
			desired := v.secret([]string{"app", "app", "owner"}[i])
			desired.SetLabels(map[string]string{"app": "db", "instance": fmt.Sprint("i", i)})
			desired.SetAnnotations(map[string]string{"example.com/made-by": fmt.Sprint("v", i)})
			res := v.mustPass(want, desired, instance)
			require.Equal(t, map[string]string{"app": "db", "instance": "i0"}, res.Live.GetLabels())
			require.Equal(t, "v0", res.Live.GetAnnotations()["example.com/made-by"])
		}
	})
}
