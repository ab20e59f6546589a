package moves_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/internal/testclock"
)

const (
	fieldOwner = "moves-operator"
	oldName    = "manager" // of a program that kubebuilder laid out
	updater    = "updater" // a stranger
	applier    = "applier" // another one
)

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	require.TestingT
	Helper()
	Logf(format string, args ...any)
	Context() context.Context
}

// A round is the history of a pair of objects.
type round struct {
	t         tb
	kind      *kindCase
	script    script
	client    client.Client // of everybody but the operator
	namespace string
	owner     client.Object
	clock     *clocktesting.FakePassiveClock

	born, migrated *object

	wanted                  map[string]string // the variants that desired has, by part
	released, once, retired map[string]bool   // the parts that options name
	migrates                bool              // MigrateFrom is given

	theirs  map[string]*theirPart // what strangers have set
	older   map[string]string     // the variants that only the older version has set, by part
	touched map[string]bool       // parts that the older version wrote since desired had them
	olds    *fieldpath.Set        // the fields that the older version wrote or removed since desired had them

	isDirty   bool // a pass failed, perhaps for one object only
	isEmptied bool // somebody emptied the managed fields, and no pass came since
	mayRoll   bool // pods may differ after the next pass
	log       []string
}

// A theirPart is a field that a stranger has set.
type theirPart struct {
	part
	manager   string
	operation metav1.ManagedFieldsOperationType
	isOwned   bool // the managed fields say so: nobody emptied them since
}

// An object is one of the pair.
type object struct {
	name    string
	client  *faultyClient
	ensurer *ensure.Ensurer
	opts    []ensure.Option
	before  *unstructured.Unstructured // the last pass
	after   *unstructured.Unstructured
}

// run plays the script.
func (r *round) run() {
	defer r.delete()
	r.begin()
	r.converge()
	for _, step := range r.script.Steps {
		r.logf("step: %s", step)
		for action := range strings.SplitSeq(step, "; ") {
			r.act(action)
		}
		r.converge()
	}
}

// begin has the older version create the migrated object. The born one does not exist yet.
func (r *round) begin() {
	r.wanted, r.released, r.once, r.retired = map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	r.theirs, r.older, r.touched = map[string]*theirPart{}, map[string]string{}, map[string]bool{}
	r.olds, r.migrates, r.isDirty, r.mayRoll = fieldpath.NewSet(), true, true, true
	r.clock = clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	for _, choice := range r.script.First {
		name, variant, _ := strings.Cut(choice, "=")
		r.wanted[name] = variant
	}
	r.restart()
	r.born.opts, r.migrated.opts = []ensure.Option{ensure.ControlledBy(r.owner)}, []ensure.Option{ensure.ControlledBy(r.owner)}
	if r.script.IsAdopted {
		r.born.opts, r.migrated.opts = nil, []ensure.Option{ensure.Adopt()}
	}
	old := r.named(r.desired(), r.migrated)
	r.mayRoll = false
	maps.Copy(r.older, r.wanted)
	for _, choice := range r.script.Older {
		name, variant, _ := strings.Cut(choice, "=")
		p, isLegacy := r.oldPart(name)
		if p.in != "" && r.older[p.in] == "" {
			continue
		}
		put(old.Object, pathOf(p.path), p.variant(variant))
		r.forgetOlder(name) // which is replaced
		r.older[name] = variant
		r.mayRoll = r.mayRoll || !isLegacy && r.wanted[name] != ""
	}
	if !r.script.IsAdopted {
		isTrue := true
		kind := r.owner.GetObjectKind().GroupVersionKind()
		old.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: r.owner.GetName(), UID: r.owner.GetUID(),
			Controller: &isTrue, BlockOwnerDeletion: &isTrue,
		}})
	}
	err := r.client.Create(r.t.Context(), old, client.FieldOwner(oldName))
	require.NoError(r.t, err, "the first content of the older version is valid")
	r.noteOlder()
	r.noteTouched()
	r.migrated.before, r.migrated.after = old, old
}

// oldPart returns a part that the older version can write, and whether desired never has it.
func (r *round) oldPart(name string) (part, bool) {
	isNamed := func(p part) bool { return p.name == name }
	if slices.ContainsFunc(r.kind.legacy, isNamed) {
		return find(r.kind.legacy, name), true
	}
	return find(r.kind.parts, name), false
}

// noteTouched remembers the parts that the older version has written.
func (r *round) noteTouched() {
	for name := range r.older {
		r.touched[name] = true
	}
}

// noteOlder remembers the fields that the older version has written.
func (r *round) noteOlder() { r.olds = r.olds.Union(fieldsOf(r.live(r.migrated), oldName, "")) }

// desired returns what desired has in all.
func (r *round) desired() map[string]any {
	content, _ := parse(r.kind.base).(map[string]any)
	for _, p := range r.kind.parts {
		if variant, ok := r.wanted[p.name]; ok {
			put(content, pathOf(p.path), p.variant(variant))
		}
	}
	return content
}

func (r *round) named(content map[string]any, o *object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	u.SetNamespace(r.namespace)
	u.SetName(o.name)
	return u
}

// restart makes Ensurers that remember nothing.
func (r *round) restart() {
	for _, o := range []*object{r.born, r.migrated} {
		o.ensurer = ensure.New(o.client, o.client, fieldOwner, testclock.With[ensure.Setting](r.clock))
	}
}

// options are those of a call for o. What may stay in the code is given for both objects.
func (r *round) options(o *object) []ensure.Option {
	opts := slices.Clone(o.opts)
	if r.migrates {
		opts = append(opts, ensure.MigrateFrom(oldName))
	}
	for _, p := range slices.Concat(r.kind.parts, r.kind.legacy) {
		switch {
		case r.released[p.name]:
			opts = append(opts, ensure.Release(p.path))
		case r.once[p.name]:
			opts = append(opts, ensure.Once(p.path))
		case r.retired[p.name]:
			opts = append(opts, ensure.Retire(p.path))
		}
	}
	return opts
}

// minutes is the time between two calls: none is held back, and no rival counts as one.
const minutes = 10 * time.Minute

// call is one of the operator.
func (r *round) call(o *object) (ensure.Operation, error) {
	r.clock.SetTime(r.clock.Now().Add(minutes))
	obj := r.named(r.desired(), o)
	desired := client.Object(obj)
	if r.kind.isTyped {
		made, err := r.client.Scheme().New(obj.GroupVersionKind())
		require.NoError(r.t, err)
		require.NoError(r.t, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, made))
		made.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		desired, _ = made.(client.Object)
	}
	asked := o.client.writes
	result, err := ensure.Object(r.t.Context(), o.ensurer, desired, r.options(o)...)
	r.logf("  %s: %s %s %v kept %v, %d writes, %v",
		o.name, result.Operation, result.Cause, result.Changes, result.Kept, o.client.writes-asked, err)
	return result.Operation, err
}

// maxCalls bounds the calls until one changes nothing.
const maxCalls = 3

// converge has the operator reconcile both objects, and checks everything.
func (r *round) converge() {
	r.notePass()
	for _, o := range []*object{r.born, r.migrated} {
		o.before = o.after
		if live := r.find(o); live != nil {
			o.before = live
		}
		operation, calls := ensure.Operation(""), 0
		for operation != ensure.Unchanged {
			calls++
			r.require(calls <= maxCalls, "%s does not come to rest", o.name)
			var err error
			operation, err = r.call(o)
			r.require(err == nil, "%s: %v", o.name, err)
		}
		writes := o.client.writes
		operation, err := r.call(o)
		r.require(err == nil && operation == ensure.Unchanged && o.client.writes == writes, "%s is not at rest: %s %v", o.name, operation, err)
		o.after = r.live(o)
	}
	r.isDirty, r.isEmptied = false, false
	r.check()
	r.mayRoll = false
}

// notePass has a pass with the present desired state change whose fields are whose.
func (r *round) notePass() {
	for name := range r.wanted {
		if !r.once[name] {
			delete(r.older, name)
			r.forgetOlder(name) // desired may have the field, too, or drop the part later
		}
	}
	for name := range r.retired {
		delete(r.older, name)
	}
}

// live returns the live object.
func (r *round) live(o *object) *unstructured.Unstructured {
	r.t.Helper()
	found := r.find(o)
	require.NotNil(r.t, found, o.name)
	return found
}

// find returns the live object; nil if there is none.
func (r *round) find(o *object) *unstructured.Unstructured {
	r.t.Helper()
	live := r.named(map[string]any{}, o)
	base, _ := parse(r.kind.base).(map[string]any)
	live.Object["apiVersion"], live.Object["kind"] = base["apiVersion"], base["kind"]
	err := r.client.Get(r.t.Context(), client.ObjectKeyFromObject(live), live)
	require.NoError(r.t, client.IgnoreNotFound(err))
	if err != nil {
		return nil
	}
	return live
}

// edit has a manager update an object.
func (r *round) edit(o *object, manager string, change func(content map[string]any)) {
	r.t.Helper()
	require.NoError(r.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // beside built-in controllers
		live := r.live(o)
		change(live.Object)
		return r.client.Update(r.t.Context(), live, client.FieldOwner(manager))
	}), "an update by %s", manager)
}

func (r *round) delete() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, o := range []*object{r.born, r.migrated} {
		live := r.named(parse(r.kind.base).(map[string]any), o) //nolint:forcetypeassert // the base is an object
		_ = r.client.Patch(ctx, live, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		_ = r.client.Delete(ctx, live) // what stays goes with the cluster
	}
}

func (r *round) logf(format string, args ...any) { r.log = append(r.log, fmt.Sprintf(format, args...)) }

// require fails the round, with what happened, unless ok.
func (r *round) require(ok bool, format string, args ...any) {
	r.t.Helper()
	if ok {
		return
	}
	r.t.Logf("%s: %s\n%s", r.kind.name, r.script, strings.Join(r.log, "\n"))
	for _, o := range []*object{r.born, r.migrated} {
		if o.before != nil {
			r.t.Logf("%s before: %s\n%s", o.name, contentOf(o.before), ownersOf(o.before))
		}
		if live := r.find(o); live != nil {
			r.t.Logf("%s after: %s\n%s", o.name, contentOf(live), ownersOf(live))
		}
	}
	r.t.Errorf(format, args...)
	r.t.FailNow()
}
