package migration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

// safely turns panics into errors.
func safely(t *testing.T, e *ensure.Ensurer, desired client.Object, opts ...ensure.Option) (r ensure.Result[client.Object], err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("PANIC %v", p)
			err = fmt.Errorf("panic %v", p)
		}
	}()
	return ensure.Object(t.Context(), e, desired, opts...)
}

// rest reports writes and requests in 5 passes.
func rest(t *testing.T, name, about string, do func() (ensure.Result[client.Object], error)) {
	t.Helper()
	begin := shared.Mark()
	var ops []string
	for range 5 {
		r, err := do()
		ops = append(ops, fmt.Sprint(r.Operation, "/", r.Cause))
		if err != nil {
			ops = append(ops, "ERR "+err.Error())
		}
	}
	all := program.Requests(t, shared, begin, name)
	writes := stored(writesOf(t, begin, name))
	dry := 0
	for _, r := range all {
		if r.DryRun {
			dry++
		}
	}
	if len(writes) > 0 || dry > 0 {
		t.Errorf("NOT AT REST %s: %d writes, %d dry: %v", about, len(writes), dry, ops)
	} else {
		t.Logf("rest %s ok: %v", about, ops[0])
	}
}

func show(t *testing.T, about string, r ensure.Result[client.Object], err error) {
	t.Helper()
	t.Logf("%s: %v/%v changes %v kept %v err %v", about, r.Operation, r.Cause, r.Changes, r.Kept, err)
}

func fieldsOf(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	for _, e := range liveOf(t, c, obj).GetManagedFields() {
		if e.Subresource == "status" {
			continue
		}
		t.Logf("   %s %s %s: %s", e.Manager, e.Operation, e.APIVersion, e.FieldsV1.GetRawBytes())
	}
}

func hostileName(t *testing.T) string { return fmt.Sprintf("h-%x", time.Now().UnixNano()) }

// A: another program that applies, named in MigrateFrom, and still running. B: as former owner.
func TestHostileRunning(t *testing.T) {
	for about, how := range map[string]func() ([]ensure.Setting, []ensure.Option){
		"migratefrom": func() ([]ensure.Setting, []ensure.Option) { return nil, []ensure.Option{ensure.MigrateFrom("old-owner")} },
		"former":      func() ([]ensure.Setting, []ensure.Option) { return []ensure.Setting{ensure.FormerFieldOwners("old-owner")}, nil },
	} {
		for form, written := range writings {
			t.Run(about+"/"+form, func(t *testing.T) {
				ns, name := shared.Namespace(t), hostileName(t)
				c := program.Client(t, shared, name)
				settingsOf, opts := how()
				old := ensure.New(c, c, "old-owner")
				e := ensure.New(c, c, taker, settingsOf...)
				data := map[string]string{"a": "1", "b": "2"}
				contestedOld, contestedNew, last := -1, -1, 0
				for i := range 30 {
					begin := shared.Mark()
					_, err := safely(t, old, written(t, settings(ns, data)), ensure.Adopt())
					if err != nil && contestedOld < 0 {
						contestedOld = i
						t.Logf("old err at %d: %v", i, err)
					}
					r, err := safely(t, e, written(t, settings(ns, data)), append(opts, ensure.Adopt())...)
					if err != nil && contestedNew < 0 {
						contestedNew = i
						t.Logf("new err at %d: %v", i, err)
					}
					if i < 4 {
						show(t, "new", r, err)
					}
					last = len(stored(writesOf(t, begin, name)))
				}
				t.Logf("contested: old %d new %d; writes in last round %d", contestedOld, contestedNew, last)
				if last > 0 {
					t.Errorf("ENDLESS exchange, %d writes a round", last)
				}
			})
		}
	}
	t.Run("plain SSA by another program", func(t *testing.T) {
		ns, name := shared.Namespace(t), hostileName(t)
		c := program.Client(t, shared, name)
		e := ensure.New(c, c, taker)
		last := 0
		var err error
		for i := range 30 {
			u := asJSON(t, settings(ns, map[string]string{"a": "1", "c": "3"}))
			require.NoError(t, program.Client(t, shared, "gitops").Patch(t.Context(), u, client.Apply, client.FieldOwner("gitops"), client.ForceOwnership)) //nolint
			begin := shared.Mark()
			var r ensure.Result[client.Object]
			r, err = safely(t, e, settings(ns, map[string]string{"a": "1"}), ensure.Adopt(), ensure.MigrateFrom("gitops"))
			if i < 3 || err != nil && i < 12 {
				show(t, "new", r, err)
			}
			last = len(stored(writesOf(t, begin, name)))
		}
		if last > 0 && err == nil {
			t.Errorf("ENDLESS exchange, %d writes a round, no error", last)
		}
	})
}

// Prefix: the owner is called <former>-released.
func TestHostilePrefix(t *testing.T) {
	ns, name := shared.Namespace(t), hostileName(t)
	c := program.Client(t, shared, name)
	e := ensure.New(c, c, "shop-released", ensure.FormerFieldOwners("shop"))
	r, err := safely(t, ensure.New(c, c, "shop"), settings(ns, map[string]string{"a": "1", "b": "2", "x": "3"}))
	show(t, "shop", r, err)
	r, err = safely(t, e, settings(ns, map[string]string{"a": "1", "b": "2"}))
	show(t, "shop-released", r, err)
	rest(t, name, "prefix", func() (ensure.Result[client.Object], error) { return safely(t, e, settings(ns, map[string]string{"a": "1", "b": "2"})) })
	r, err = safely(t, e, settings(ns, map[string]string{"a": "1"}))
	show(t, "shop-released drops b", r, err)
	fieldsOf(t, c, settings(ns, nil))
	if d := dataOf(t, c, ns); len(d) != 1 {
		t.Errorf("PREFIX: dropped stays: %v", d)
	}
}

// Resets of an adopted object, again and again.
func TestHostileResetsAdopted(t *testing.T) {
	for about, opts := range map[string][]ensure.Option{"adopted": {ensure.Adopt()}, "adopted, from": {ensure.Adopt(), ensure.MigrateFrom(oldName)}} {
		for how, reset := range resets() {
			t.Run(about+"/"+how, func(t *testing.T) {
				ns, name := shared.Namespace(t), hostileName(t)
				c := program.Client(t, shared, name)
				setData(t, program.Client(t, shared, oldName), ns, map[string]string{"a": "1", "b": "2"})
				e := ensure.New(c, c, taker)
				do := func() (ensure.Result[client.Object], error) { return safely(t, e, settings(ns, map[string]string{"a": "1"}), opts...) }
				r, err := do()
				show(t, "first", r, err)
				n, failed := 0, -1
				for i := range 12 {
					reset(t, program.Client(t, shared, "resetter"), settings(ns, nil))
					begin := shared.Mark()
					r, err = do()
					n += len(stored(writesOf(t, begin, name)))
					if i < 2 {
						show(t, "after reset", r, err)
					}
					if err != nil && failed < 0 {
						failed = i
						t.Log(err)
					}
				}
				if failed < 0 {
					t.Errorf("NO CONTEST after 12 resets, %d writes", n)
				}
			})
		}
	}
}

func withOld(ns string) *appsv1.Deployment {
	d := idle(ns)
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "old", Image: "busybox", Env: []corev1.EnvVar{{Name: "X", Value: "1"}}})
	return d
}

func names(d *appsv1.Deployment) (found []string) {
	for _, c := range d.Spec.Template.Spec.Containers {
		found = append(found, c.Name+" "+c.Image+" "+fmt.Sprint(c.Env))
	}
	return found
}

const oldContainer = "spec.template.spec.containers[name=old]"

// Retire of parts, and beside others.
func TestHostileRetire(t *testing.T) {
	cases := map[string]struct {
		prepare func(t *testing.T, ns string)
		opts    []ensure.Option
	}{
		"retire name only":         {nil, []ensure.Option{ensure.Retire(oldContainer + ".name")}},
		"retire image only":        {nil, []ensure.Option{ensure.Retire(oldContainer + ".image")}},
		"retire+release image":     {nil, []ensure.Option{ensure.Retire(oldContainer), ensure.Release(oldContainer + ".image")}},
		"retire+release env":       {nil, []ensure.Option{ensure.Retire(oldContainer), ensure.Release(oldContainer + ".env")}},
		"retire+once image":        {nil, []ensure.Option{ensure.Retire(oldContainer), ensure.Once(oldContainer + ".image")}},
		"retire+release the same":  {nil, []ensure.Option{ensure.Retire(oldContainer), ensure.Release(oldContainer)}},
		"retire, others set image": {func(t *testing.T, ns string) {
			update(t, program.Client(t, shared, "kubectl-set"), idle(ns), func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Image = "busybox:2" })
		}, []ensure.Option{ensure.Retire(oldContainer)}},
		"retire, others set env": {func(t *testing.T, ns string) {
			update(t, program.Client(t, shared, "kubectl-set"), idle(ns), func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[1].Env = append(d.Spec.Template.Spec.Containers[1].Env, corev1.EnvVar{Name: "THEIRS", Value: "x"})
			})
		}, []ensure.Option{ensure.Retire(oldContainer)}},
		"retire selector-less path": {nil, []ensure.Option{ensure.Retire("spec.selector.matchLabels[zzz]")}},
		"retire revisionHistoryLimit (default)": {nil, []ensure.Option{ensure.Retire("spec.revisionHistoryLimit", "spec.progressDeadlineSeconds", "spec.template.spec.dnsPolicy")}},
		"retire in desired's item": {nil, []ensure.Option{ensure.Retire("spec.template.spec.containers[name=web].imagePullPolicy", "spec.template.spec.containers[name=web].terminationMessagePath")}},
		"retire status and metadata": {nil, []ensure.Option{ensure.Retire("status.replicas", "metadata.generation", "metadata.managedFields", "metadata.creationTimestamp")}},
	}
	for about, tc := range cases {
		for form, written := range writings {
			t.Run(about+"/"+form, func(t *testing.T) {
				ns, name := shared.Namespace(t), hostileName(t)
				c := program.Client(t, shared, name)
				require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), withOld(ns)))
				awaitStatus(t, c, idle(ns), 1)
				if tc.prepare != nil {
					tc.prepare(t, ns)
				}
				e := ensure.New(c, c, taker)
				base := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
				do := func(opts ...ensure.Option) (ensure.Result[client.Object], error) {
					return safely(t, e, written(t, idle(ns)), append(opts, base...)...)
				}
				was := liveOf(t, c, idle(ns))
				r, err := do(append(tc.opts, ensure.DryRun())...)
				show(t, "DRY", r, err)
				if w := liveOf(t, c, idle(ns)); fmt.Sprint(w.ManagedFields) != fmt.Sprint(was.ManagedFields) || w.Generation != was.Generation {
					t.Errorf("DRY RUN WROTE")
				}
				r, err = do(tc.opts...)
				show(t, "real", r, err)
				t.Log(names(liveOf(t, c, idle(ns))))
				e = ensure.New(c, c, taker)
				r, err = do(tc.opts...)
				show(t, "restarted", r, err)
				rest(t, name, "with", func() (ensure.Result[client.Object], error) { return do(tc.opts...) })
				e = ensure.New(c, c, taker)
				r, err = do()
				show(t, "without the option", r, err)
				if err != nil {
					t.Errorf("STUCK after the option was removed")
					fieldsOf(t, c, idle(ns))
				}
				d := idle(ns)
				d.Labels = map[string]string{"new": "x"}
				r, err = safely(t, e, written(t, d), base...)
				show(t, "another desired", r, err)
				if err != nil {
					t.Errorf("STUCK with another desired")
				}
				rest(t, name, "without", func() (ensure.Result[client.Object], error) { return safely(t, e, written(t, d), base...) })
				t.Log(names(liveOf(t, c, idle(ns))))
			})
		}
	}
}

// Retire refused by the server: immutable ConfigMap; then the option goes.
func TestHostileRetireRefused(t *testing.T) {
	ns, name := shared.Namespace(t), hostileName(t)
	c := program.Client(t, shared, name)
	old := settings(ns, map[string]string{"a": "1", "b": "2"})
	old.Immutable = new(true)
	require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), old))
	desired := func() client.Object {
		d := settings(ns, map[string]string{"a": "1"})
		d.Immutable = new(true)
		return d
	}
	e := ensure.New(c, c, taker)
	base := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
	r, err := safely(t, e, desired(), append(base, ensure.Retire("data[b]"))...)
	show(t, "retire", r, err)
	e = ensure.New(c, c, taker)
	r, err = safely(t, e, desired(), base...)
	show(t, "without", r, err)
	fieldsOf(t, c, old)
	if err != nil {
		t.Errorf("STUCK for ever after a refused Retire")
	}
}

// A typing error together with Retire; then the author thinks again, drops Retire and mends the error: the field goes.
func TestHostileRetireWithFault(t *testing.T) {
	ns, name := shared.Namespace(t), hostileName(t)
	c := program.Client(t, shared, name)
	require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), withOld(ns)))
	base := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
	bad := idle(ns)
	bad.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 800000}}
	r, err := safely(t, ensure.New(c, c, taker), bad, append(base, ensure.Retire(oldContainer))...)
	show(t, "retire with fault", r, err)
	r, err = safely(t, ensure.New(c, c, taker), idle(ns), base...)
	show(t, "mended, without Retire", r, err)
	if n := names(liveOf(t, c, idle(ns))); len(n) != 2 {
		t.Errorf("LOST: %v", n)
	}
}

// dry run with Retire of what nobody owns; strip cache; crash.
func TestHostileRetireUnowned(t *testing.T) {
	prepare := func(t *testing.T, name string) (string, func() *appsv1.Deployment) {
		ns := shared.Namespace(t)
		c := program.Client(t, shared, name)
		old := idle(ns)
		old.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(77))
		require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), old))
		awaitStatus(t, c, idle(ns), 1)
		time.Sleep(2100 * time.Millisecond)
		_, err := safely(t, ensure.New(c, c, taker), idle(ns), ensure.Adopt(), ensure.MigrateFrom(oldName))
		require.NoError(t, err)
		time.Sleep(2100 * time.Millisecond)
		return ns, func() *appsv1.Deployment { return liveOf(t, c, idle(ns)) }
	}
	opts := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName), ensure.Retire("spec.template.spec.terminationGracePeriodSeconds")}
	grace := func(d *appsv1.Deployment) int64 { return *d.Spec.Template.Spec.TerminationGracePeriodSeconds }
	t.Run("dry run tells", func(t *testing.T) {
		name := hostileName(t)
		ns, live := prepare(t, name)
		c := program.Client(t, shared, name)
		e := ensure.New(c, c, taker)
		r, err := safely(t, e, idle(ns), append(opts, ensure.DryRun())...)
		show(t, "dry", r, err)
		dry := len(r.Changes)
		require.EqualValues(t, 77, grace(live()))
		r, err = safely(t, e, idle(ns), opts...)
		show(t, "real", r, err)
		t.Log(grace(live()))
		if dry != len(r.Changes) {
			t.Errorf("DRY RUN tells %d changes, real %d", dry, len(r.Changes))
		}
		rest(t, name, "unowned", func() (ensure.Result[client.Object], error) { return safely(t, e, idle(ns), opts...) })
	})
	t.Run("dry run tells, desired changed, too", func(t *testing.T) {
		name := hostileName(t)
		ns, _ := prepare(t, name)
		c := program.Client(t, shared, name)
		e := ensure.New(c, c, taker)
		d := withReplicas(idle(ns), 2)
		r, err := safely(t, e, d, append(opts, ensure.DryRun())...)
		show(t, "dry", r, err)
		dry := len(r.Changes)
		r, err = safely(t, e, d, opts...)
		show(t, "real", r, err)
		if dry != len(r.Changes) {
			t.Errorf("DRY RUN tells %d changes, real %d", dry, len(r.Changes))
		}
	})
	t.Run("strip cache", func(t *testing.T) {
		name := hostileName(t)
		ns, live := prepare(t, name)
		c, reader := accesses[2].open(t, name)
		e := ensure.New(c, reader, taker)
		r, err := safely(t, e, idle(ns), opts...)
		show(t, "first pass", r, err)
		t.Log(grace(live()))
		r, err = safely(t, e, withReplicas(idle(ns), 3), opts...)
		show(t, "next apply", r, err)
		if g := grace(live()); g == 77 {
			t.Errorf("RETIRE with a stripping cache did nothing, even with the next apply")
		}
		awaitReplicas(t, c, idle(ns), 3)
		rest(t, name, "strip", func() (ensure.Result[client.Object], error) { return safely(t, e, withReplicas(idle(ns), 3), opts...) })
	})
	t.Run("crash after the patch", func(t *testing.T) {
		name := hostileName(t)
		ns, live := prepare(t, name)
		c := program.Client(t, shared, name)
		crashing := &crashingClient{Client: c, at: 1, delivered: true} // 0 asks for the fields
		r, err := safely(t, ensure.New(crashing, c, taker), idle(ns), opts...)
		show(t, "crash", r, err)
		fieldsOf(t, c, idle(ns))
		e := ensure.New(c, c, taker)
		r, err = safely(t, e, idle(ns), opts...)
		show(t, "again", r, err)
		if g := grace(live()); g == 77 {
			t.Errorf("a crash left Retire undone")
		}
	})
	t.Run("crash after the patch, owned key", func(t *testing.T) {
		ns, name := shared.Namespace(t), hostileName(t)
		c := program.Client(t, shared, name)
		setData(t, program.Client(t, shared, oldName), ns, map[string]string{"a": "1", "b": "2"})
		time.Sleep(1100 * time.Millisecond)
		base := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
		_, err := safely(t, ensure.New(c, c, taker), settings(ns, map[string]string{"a": "1"}), base...)
		require.NoError(t, err)
		time.Sleep(1100 * time.Millisecond)
		retire := append(base, ensure.Retire("data[b]"))
		crashing := &crashingClient{Client: c, at: 0, delivered: true}
		r, err := safely(t, ensure.New(crashing, c, taker), settings(ns, map[string]string{"a": "1"}), retire...)
		show(t, "crash", r, err)
		e := ensure.New(c, c, taker)
		r, err = safely(t, e, settings(ns, map[string]string{"a": "1"}), retire...)
		show(t, "again", r, err)
		if d := dataOf(t, c, ns); len(d) != 1 {
			t.Errorf("a crash left Retire undone: %v", d)
			fieldsOf(t, c, settings(ns, nil))
		}
	})
	t.Run("two call sites alternate", func(t *testing.T) {
		name := hostileName(t)
		ns, live := prepare(t, name)
		c := program.Client(t, shared, name)
		e := ensure.New(c, c, taker)
		i := 0
		do := func() (ensure.Result[client.Object], error) {
			i++
			o := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName), ensure.Retire("spec.template.spec.dnsPolicy")}
			if i%2 == 0 {
				o = o[:2]
			}
			return safely(t, e, idle(ns), o...)
		}
		for range 4 {
			_, _ = do()
		}
		rest(t, name, "alternating options", do)
		_ = live
	})
}

// Labels that nobody owns: Retire says nobody's go, too.
func TestHostileRetireUnownedLabel(t *testing.T) {
	ns, name := shared.Namespace(t), hostileName(t)
	c := program.Client(t, shared, name)
	old := settings(ns, map[string]string{"a": "1"})
	old.Labels = map[string]string{"gone": "x"}
	require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), old))
	_, err := safely(t, ensure.New(c, c, taker), settings(ns, map[string]string{"a": "1"}), ensure.Adopt())
	require.NoError(t, err)
	for i, entry := range liveOf(t, c, old).ManagedFields {
		if entry.Manager == oldName {
			require.NoError(t, c.Patch(t.Context(), old, client.RawPatch(types.JSONPatchType, []byte(fmt.Sprintf(`[{"op":"remove","path":"/metadata/managedFields/%d"}]`, i)))))
			break
		}
	}
	e := ensure.New(c, c, taker)
	do := func() (ensure.Result[client.Object], error) {
		return safely(t, e, settings(ns, map[string]string{"a": "1"}), ensure.Adopt(), ensure.MigrateFrom(oldName), ensure.Retire("metadata.labels[gone]"))
	}
	r, err := do()
	show(t, "retire", r, err)
	if l := liveOf(t, c, old).Labels; len(l) > 0 {
		t.Errorf("RETIRE of a label of nobody did nothing: %v", l)
		fieldsOf(t, c, old)
	}
	rest(t, name, "label", do)
}

// Secrets.
func TestHostileSecret(t *testing.T) {
	for about, tc := range map[string]struct {
		set  func(s *corev1.Secret)
		opts []ensure.Option
	}{
		"data":       {func(s *corev1.Secret) { s.Data = map[string][]byte{"password": []byte("new")} }, nil},
		"stringData": {func(s *corev1.Secret) { s.StringData = map[string]string{"password": "new"} }, nil},
		"both":       {func(s *corev1.Secret) { s.StringData = map[string]string{"password": "new"}; s.Data = map[string][]byte{"password": []byte("old")} }, nil},
		"ifexists":   {func(s *corev1.Secret) { s.StringData = map[string]string{"password": "new"} }, []ensure.Option{ensure.IfExists()}},
		"recreate":   {func(s *corev1.Secret) { s.Type = "other"; s.StringData = map[string]string{"password": "new"} }, []ensure.Option{ensure.Recreate(metav1.DeletePropagationBackground)}},
		"retire":     {func(s *corev1.Secret) {}, []ensure.Option{ensure.Once("data[password]")}},
		"release":    {func(s *corev1.Secret) { s.StringData = map[string]string{"other": "new"} }, []ensure.Option{ensure.Release("data[password]")}},
	} {
		for _, how := range []string{"adopt", "controlled"} {
			for form, written := range writings {
				t.Run(about+"/"+how+"/"+form, func(t *testing.T) {
					ns, name := shared.Namespace(t), hostileName(t)
					c := program.Client(t, shared, name)
					owner := newOwner(t, ns)
					s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}, Data: map[string][]byte{"password": []byte("old")}}
					opts := append([]ensure.Option{ensure.MigrateFrom(oldName)}, tc.opts...)
					if how == "controlled" {
						require.NoError(t, controllerutil.SetControllerReference(owner, s, c.Scheme()))
						opts = append(opts, ensure.ControlledBy(owner))
					} else {
						opts = append(opts, ensure.Adopt())
					}
					require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), s))
					d := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}}
					tc.set(d)
					e := ensure.New(c, c, taker)
					for range 2 {
						r, err := safely(t, e, written(t, d), opts...)
						show(t, about, r, err)
					}
					if got := string(liveOf(t, c, &corev1.Secret{ObjectMeta: d.ObjectMeta}).Data["password"]); got != "old" {
						t.Errorf("OVERWRITTEN: %q", got)
					}
				})
			}
		}
	}
}

// A client that writes after each apply under the same field owner by Update, as a webhook would.
type webhookClient struct {
	client.Client

	inner client.Client
	write func(d *appsv1.Deployment)
}

func (w *webhookClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	err := w.Client.Patch(ctx, obj, patch, opts...)
	if err != nil || patch.Type() != types.ApplyPatchType || len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) > 0 {
		return err
	}
	for range 5 {
		live := &appsv1.Deployment{}
		if err := w.inner.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
			return err
		}
		w.write(live)
		if err = w.inner.Update(ctx, live, client.FieldOwner(taker)); err == nil {
			if typed, ok := obj.(*appsv1.Deployment); ok {
				*typed = *live
			} else {
				return w.inner.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			}
			return nil
		}
	}
	return err
}

func TestHostileWebhook(t *testing.T) {
	for about, write := range map[string]func(d *appsv1.Deployment){
		"struct field": func(d *appsv1.Deployment) { d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(5)) },
		"struct": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true)}
		},
		"container": func(d *appsv1.Deployment) {
			if len(d.Spec.Template.Spec.Containers) < 2 {
				d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar", Image: "x"})
			}
		},
		"container first": func(d *appsv1.Deployment) {
			if len(d.Spec.Template.Spec.Containers) < 2 {
				d.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "sidecar", Image: "x"}}, d.Spec.Template.Spec.Containers...)
			}
		},
		"env in ours": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "I", Value: "1"}} },
		"annotations": func(d *appsv1.Deployment) { d.Spec.Template.Annotations = map[string]string{"i": "1"} },
		"toggles":     func(d *appsv1.Deployment) { d.Spec.Template.Annotations = map[string]string{"i": fmt.Sprint(time.Now().UnixNano())} },
		"our image":   func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "mirror/nginx:1.29" },
	} {
		for _, from := range []bool{true, false} {
			for form, written := range map[string]func(*testing.T, client.Object) client.Object{"typed": typedAsIs} {
				t.Run(fmt.Sprint(about, "/from ", from, "/", form), func(t *testing.T) {
					ns, name := shared.Namespace(t), hostileName(t)
					plain := program.Client(t, shared, name)
					inner := program.Client(t, shared, "webhook")
					if from {
						require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), idle(ns)))
						time.Sleep(400 * time.Millisecond)
					}
					c := &webhookClient{Client: plain, inner: inner, write: write}
					e := ensure.New(c, plain, taker)
					do := func() (ensure.Result[client.Object], error) {
						return safely(t, e, written(t, idle(ns)), ensure.Adopt(), ensure.MigrateFrom(oldName))
					}
					for i := range 3 {
						r, err := do()
						if i == 2 || err != nil {
							show(t, "pass", r, err)
						}
					}
					time.Sleep(400 * time.Millisecond)
					time.Sleep(300 * time.Millisecond)
					_, _ = do()
					rest(t, name, about, do)
					e = ensure.New(c, plain, taker)
					_, _ = do()
					rest(t, name, about+" after restart", do)
				})
			}
		}
	}
}

// The operator writes by Update under its own name again and again, between passes.
func TestHostileOwnUpdates(t *testing.T) {
	for about, write := range map[string]func(d *appsv1.Deployment, i int){
		"annotation": func(d *appsv1.Deployment, i int) { metav1.SetMetaDataAnnotation(&d.ObjectMeta, "op/x", fmt.Sprint(i)) },
		"label":      func(d *appsv1.Deployment, i int) { metav1.SetMetaDataLabel(&d.ObjectMeta, "op", fmt.Sprint(i)) },
		"paused":     func(d *appsv1.Deployment, i int) { d.Spec.Paused = i%2 == 0 },
		"replicas":   func(d *appsv1.Deployment, i int) { d.Spec.Replicas = new(int32(i + 2)) },
		"pod annotation": func(d *appsv1.Deployment, i int) { metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, "op/x", fmt.Sprint(i)) },
		"grace":          func(d *appsv1.Deployment, i int) { d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(i + 2)) },
	} {
		t.Run(about, func(t *testing.T) {
			ns, name := shared.Namespace(t), hostileName(t)
			c := program.Client(t, shared, name)
			e := ensure.New(c, c, taker)
			do := func() (ensure.Result[client.Object], error) {
				return safely(t, e, idle(ns), ensure.Adopt(), ensure.MigrateFrom(oldName))
			}
			_, _ = do()
			time.Sleep(400 * time.Millisecond)
			begin := shared.Mark()
			var r ensure.Result[client.Object]
			var err error
			for i := range 8 {
				for {
					live := liveOf(t, c, idle(ns))
					write(live, i)
					if program.Client(t, shared, "x").Update(t.Context(), live, client.FieldOwner(taker)) == nil {
						break
					}
				}
				r, err = do()
				if err != nil {
					show(t, "err", r, err)
					break
				}
			}
			show(t, "last", r, err)
			t.Logf("writes %d in 8 rounds", len(stored(writesOf(t, begin, name))))
			time.Sleep(300 * time.Millisecond)
			_, _ = do()
			rest(t, name, about, do)
			fieldsOf(t, c, idle(ns))
		})
	}
}

// Odd names and paths.
func TestHostileNames(t *testing.T) {
	for about, tc := range map[string]struct {
		settings []ensure.Setting
		opts     []ensure.Option
	}{
		"itself":            {nil, []ensure.Option{ensure.MigrateFrom(taker)}},
		"released":          {nil, []ensure.Option{ensure.MigrateFrom(taker + "-released"), ensure.Release("data[b]")}},
		"bfa":               {nil, []ensure.Option{ensure.MigrateFrom("before-first-apply")}},
		"empty":             {nil, []ensure.Option{ensure.MigrateFrom("")}},
		"retire empty":      {nil, []ensure.Option{ensure.Retire("")}},
		"retire dots":       {nil, []ensure.Option{ensure.Retire("data..x")}},
		"retire [":          {nil, []ensure.Option{ensure.Retire("data[")}},
		"retire root":       {nil, []ensure.Option{ensure.Retire("metadata")}},
		"retire deep":       {nil, []ensure.Option{ensure.Retire("data[b].x.y")}},
		"retire data":       {nil, []ensure.Option{ensure.Retire("data")}},
		"release empty":     {nil, []ensure.Option{ensure.Release("")}},
		"former empty":      {[]ensure.Setting{ensure.FormerFieldOwners("")}, nil},
		"former itself":     {[]ensure.Setting{ensure.FormerFieldOwners(taker)}, nil},
		"former released":   {[]ensure.Setting{ensure.FormerFieldOwners(taker + "-released")}, []ensure.Option{ensure.Release("data[b]")}},
		"former bfa":        {[]ensure.Setting{ensure.FormerFieldOwners("before-first-apply")}, nil},
		"former and from":   {[]ensure.Setting{ensure.FormerFieldOwners(oldName)}, []ensure.Option{ensure.MigrateFrom(oldName)}},
		"former weird":      {[]ensure.Setting{ensure.FormerFieldOwners("a b/ü")}, nil},
		"from with newline": {nil, []ensure.Option{ensure.MigrateFrom("a\nb")}},
	} {
		for form, written := range writings {
			t.Run(about+"/"+form, func(t *testing.T) {
				ns, name := shared.Namespace(t), hostileName(t)
				c := program.Client(t, shared, name)
				setData(t, program.Client(t, shared, oldName), ns, map[string]string{"a": "1", "b": "2"})
				setData(t, program.Client(t, shared, "stranger"), ns, map[string]string{"theirs": "x"})
				full, err := safely(t, ensure.New(c, c, taker), written(t, settings(ns, map[string]string{"a": "1", "b": "2"})), ensure.Adopt())
				require.NoError(t, err)
				_ = full
				e := ensure.New(c, c, taker, tc.settings...)
				do := func() (ensure.Result[client.Object], error) {
					return safely(t, e, written(t, settings(ns, map[string]string{"a": "1"})), append(tc.opts, ensure.Adopt())...)
				}
				r, err := do()
				show(t, about, r, err)
				rest(t, name, about, do)
				if d := dataOf(t, c, ns); d["theirs"] != "x" {
					t.Errorf("LOST %v", d)
				}
				t.Log(dataOf(t, c, ns))
			})
		}
	}
}

// More: odd managed fields, former with empty fields, alternating ensurers, own fields and items, custom kinds.
func TestHostileMore(t *testing.T) {
	t.Run("former entry without fields", func(t *testing.T) {
		ns, name := shared.Namespace(t), hostileName(t)
		c := program.Client(t, shared, name)
		setData(t, program.Client(t, shared, oldName), ns, map[string]string{"a": "1"})
		err := c.Patch(t.Context(), settings(ns, nil), client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/managedFields/-","value":{"manager":"formerly","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}}]`)))
		t.Log(err)
		fieldsOf(t, c, settings(ns, nil))
		e := ensure.New(c, c, taker, ensure.FormerFieldOwners("formerly"))
		do := func() (ensure.Result[client.Object], error) { return safely(t, e, settings(ns, map[string]string{"a": "1"}), ensure.Adopt()) }
		r, err := do()
		show(t, "first", r, err)
		rest(t, name, "empty former", do)
		fieldsOf(t, c, settings(ns, nil))
	})
	for about, fields := range map[string]string{
		"weird paths": `{"f:data":{".":{},"f:a":{},"f:":{},"f:a.b[c]":{}},"f:metadata":{"f:labels":{"i:0":{},"v:null":{},"k:{}":{".":{}}},"f:ownerReferences":{"k:{\"uid\":null}":{}},"i:3":{}},"v:1":{},"k:{\"a\":[1]}":{}}`,
		"too deep":    `{"f:data":{"f:a":{"f:b":{"f:c":{}}},"i:0":{"f:x":{}}},".":{}}`,
	} {
		for _, op := range []string{"Apply", "Update"} {
			t.Run(about+"/"+op, func(t *testing.T) {
				ns, name := shared.Namespace(t), hostileName(t)
				c := program.Client(t, shared, name)
				setData(t, program.Client(t, shared, oldName), ns, map[string]string{"a": "1"})
				err := c.Patch(t.Context(), settings(ns, nil), client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/managedFields/-","value":{"manager":"weird","operation":"`+op+`","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":`+fields+`}}]`)))
				t.Log(err)
				for _, set := range [][]ensure.Setting{nil, {ensure.FormerFieldOwners("weird")}} {
					e := ensure.New(c, c, taker, set...)
					do := func() (ensure.Result[client.Object], error) {
						return safely(t, e, settings(ns, map[string]string{"a": "1"}), ensure.Adopt(), ensure.MigrateFrom("weird", oldName), ensure.Retire("data[b]", "metadata.labels[x]"))
					}
					r, err := do()
					show(t, "first", r, err)
					rest(t, name, "weird", do)
				}
				fieldsOf(t, c, settings(ns, nil))
			})
		}
	}
	t.Run("former of two, both named, prefix a and a-released", func(t *testing.T) {
		ns, name := shared.Namespace(t), hostileName(t)
		c := program.Client(t, shared, name)
		_, _ = safely(t, ensure.New(c, c, "fo"), settings(ns, map[string]string{"a": "1", "x": "1"}))
		_, _ = safely(t, ensure.New(c, c, "fo-released"), settings(ns, map[string]string{"a": "1", "y": "1"}), ensure.Adopt())
		e := ensure.New(c, c, taker, ensure.FormerFieldOwners("fo", "fo-released"))
		do := func() (ensure.Result[client.Object], error) { return safely(t, e, settings(ns, map[string]string{"a": "1"})) }
		r, err := do()
		show(t, "first", r, err)
		t.Log(dataOf(t, c, ns))
		fieldsOf(t, c, settings(ns, nil))
		rest(t, name, "two formers", do)
		if len(dataOf(t, c, ns)) != 1 {
			t.Errorf("FORMER intent stays: %v", dataOf(t, c, ns))
		}
	})
	t.Run("alternating ensurers, one migrates", func(t *testing.T) {
		ns, name := shared.Namespace(t), hostileName(t)
		c := program.Client(t, shared, name)
		setData(t, program.Client(t, shared, oldName), ns, map[string]string{"a": "1", "b": "2"})
		es := []*ensure.Ensurer{ensure.New(c, c, taker), ensure.New(c, c, taker), ensure.New(c, c, taker, ensure.FormerFieldOwners("nobody"))}
		opts := [][]ensure.Option{{ensure.MigrateFrom(oldName)}, {ensure.Release("data[b]")}, {ensure.Retire("data[zzz]"), ensure.Once("data[q]")}}
		i := 0
		do := func() (ensure.Result[client.Object], error) {
			i++
			return safely(t, es[i%3], settings(ns, map[string]string{"a": "1"}), append(opts[i%3], ensure.Adopt())...)
		}
		for range 6 {
			_, _ = do()
		}
		rest(t, name, "alternating", do)
		if len(dataOf(t, c, ns)) != 2 {
			t.Errorf("LOST %v", dataOf(t, c, ns))
		}
	})
	t.Run("once removed", func(t *testing.T) {
		ns, name := shared.Namespace(t), hostileName(t)
		c := program.Client(t, shared, name)
		e := ensure.New(c, c, taker)
		step := func(about string, data map[string]string, opts ...ensure.Option) {
			do := func() (ensure.Result[client.Object], error) { return safely(t, e, settings(ns, data), opts...) }
			r, err := do()
			show(t, about, r, err)
			rest(t, name, about, do)
			t.Log(dataOf(t, c, ns))
		}
		step("create once", map[string]string{"a": "1", "p": "secret"}, ensure.Once("data[p]"))
		step("again", map[string]string{"a": "2", "p": "other"}, ensure.Once("data[p]"))
		step("no once, not desired", map[string]string{"a": "3"})
		step("retired", map[string]string{"a": "3"}, ensure.Retire("data[p]"))
		step("all once", map[string]string{"a": "4", "q": "1"}, ensure.Once("data[q]", "data[p]"))
		step("release and once", map[string]string{"a": "4", "q": "1"}, ensure.Once("data[q]"), ensure.Release("data[a2]", "data[p]"))
		fieldsOf(t, c, settings(ns, nil))
	})
	t.Run("recreate with a refused Retire", func(t *testing.T) {
		ns, name := shared.Namespace(t), hostileName(t)
		c := program.Client(t, shared, name)
		owner := newOwner(t, ns)
		old := settings(ns, map[string]string{"a": "1", "b": "2"})
		old.Immutable = new(true)
		require.NoError(t, controllerutil.SetControllerReference(owner, old, c.Scheme()))
		require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), old))
		d := settings(ns, map[string]string{"a": "1"})
		d.Immutable = new(true)
		e := ensure.New(c, c, taker)
		r, err := safely(t, e, d, ensure.ControlledBy(owner), ensure.MigrateFrom(oldName), ensure.Retire("data[b]"), ensure.DryRun())
		show(t, "dry", r, err)
		r, err = safely(t, e, d, ensure.ControlledBy(owner), ensure.MigrateFrom(oldName), ensure.Retire("data[b]"))
		show(t, "refused", r, err)
		for i := range 2 {
			r, err = safely(t, e, d, ensure.ControlledBy(owner), ensure.MigrateFrom(oldName))
			show(t, fmt.Sprint("without ", i), r, err)
		}
	})
	t.Run("custom kinds", func(t *testing.T) {
		for access, refuses := range map[string]bool{"readable": false, "not readable": true} {
			for retire, spec := range map[string]string{
				"spec.slots[name=b]": "slots: [{name: a, value: x, options: {b: x}}, {name: b, value: y}], size: 2", "spec.ports[https]": "ports: [http, https], size: 2",
				"spec.words[0]": "words: [a, b], size: 2", "spec.groups.g.b": "groups: {g: {b: x, deep: {d: x}}}, size: 2", "spec.options.deep": "options: {a: x, b: x, deep: {c: x, d: x}}, size: 2",
			} {
				s := newShelf(t, refuses)
				require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), s.desired(spec)))
				e := ensure.New(s.client, s.reader, taker)
				do := func() (ensure.Result[client.Object], error) {
					return safely(t, e, s.desired("size: 2"), ensure.Adopt(), ensure.MigrateFrom(oldName), ensure.Retire(retire))
				}
				r, err := do()
				show(t, access+" "+retire, r, err)
				t.Log(liveOf(t, s.client, s.desired("")).Object["spec"])
				rest(t, taker, access+retire, do)
				e = ensure.New(s.client, s.reader, taker)
				r, err = do()
				show(t, access+" "+retire+" restarted", r, err)
				rest(t, taker, access+retire, do)
			}
		}
	})
}

func TestHostileLast(t *testing.T) {
	ns, name := shared.Namespace(t), hostileName(t)
	c := program.Client(t, shared, name)
	old := settings(ns, map[string]string{"a": "1", "b": "2"})
	old.Immutable = new(true)
	require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), old))
	d := settings(ns, map[string]string{"a": "1"})
	d.Immutable = new(true)
	base := []ensure.Option{ensure.Adopt(), ensure.MigrateFrom(oldName)}
	r, err := safely(t, ensure.New(c, c, taker), d, base...)
	show(t, "control: never retired", r, err)
	r, err = safely(t, ensure.New(c, c, taker), d, append(base, ensure.Retire("data[b]"))...)
	show(t, "retired later", r, err)
	r, err = safely(t, ensure.New(c, c, taker), d, base...)
	show(t, "rolled back to the release before", r, err)
	d.Labels = map[string]string{"x": "y"}
	r, err = safely(t, ensure.New(c, c, taker), d, base...)
	show(t, "rolled back, another label", r, err)
	fieldsOf(t, c, old)

	t.Run("old writer sets the retired key again", func(t *testing.T) {
		for _, from := range []string{oldName, "kubectl-edit"} {
			ns := shared.Namespace(t)
			setData(t, program.Client(t, shared, from), ns, map[string]string{"a": "1", "b": "2"})
			e := ensure.New(c, c, taker)
			for i := range 9 {
				r, err := safely(t, e, settings(ns, map[string]string{"a": "1"}), append(base, ensure.Retire("data[b]"))...)
				if err != nil || i < 2 {
					show(t, fmt.Sprint(from, i), r, err)
				}
				setData(t, program.Client(t, shared, from), ns, map[string]string{"b": fmt.Sprint(i)})
			}
		}
	})
	t.Run("release of an image, retire of its item, by two releases", func(t *testing.T) {
		ns := shared.Namespace(t)
		require.NoError(t, program.Client(t, shared, oldName).Create(t.Context(), withOld(ns)))
		update(t, program.Client(t, shared, "image-updater"), idle(ns), func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Image = "busybox:2" })
		e := ensure.New(c, c, taker)
		time.Sleep(500 * time.Millisecond)
		r, err := safely(t, e, idle(ns), append(base, ensure.Release(oldContainer+".image"))...)
		show(t, "release", r, err)
		begin := shared.Mark()
		r, err = safely(t, e, idle(ns), append(base, ensure.Release(oldContainer+".image"), ensure.Retire(oldContainer))...)
		show(t, "release+retire", r, err)
		for _, q := range program.Requests(t, shared, begin, name) {
			t.Log(q.Verb, q.Resource, q.DryRun)
		}
		t.Log(names(liveOf(t, c, idle(ns))))
	})
}
