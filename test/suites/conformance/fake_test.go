package conformance_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
	"github.com/trueup-go/trueup/internal/consistency"
	"github.com/trueup-go/trueup/test/harness/offset"
)

// An observation is the result of a step of a child's life.
type observation struct {
	Step      string
	Operation ensure.Operation
	Cause     ensure.Cause
	Changes   []string // their paths
	Requests  []string // their verbs
	Error     string

	Generation int64 // by how much it moved
	Moved      bool  // the resourceVersion
	UID        bool  // there is one
}

// TestFakeAgreesWithTheServer takes every kind through the same life with ensuretest's fake
// client and with the API server. Each step has to show the same, but for the expected
// differences.
func TestFakeAgreesWithTheServer(t *testing.T) {
	skipOlderFakes(t)
	a := plain(t)
	met := &differencesMet{}
	t.Run("kinds", func(t *testing.T) {
		for _, k := range some(t, kindCases()) {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				onServer := newFixture(t, counted(a), k)
				want, got := onServer.runLifecycle(), newFakeFixture(t, k, onServer.namespace).runLifecycle()
				require.Len(t, got, len(want))
				for i := range want {
					met.require(t, k.name, want[i].Step, gocmp.Diff(want[i], got[i]))
				}
			})
		}
	})
	met.requireAll(t, lifecycleDifferences)
}

// skipOlderFakes skips a comparison of ensuretest's client with the API server if controller-runtime's fake client, which
// ensuretest completes, is older than the tests. docs/versions.md says what the older ones lack.
func skipOlderFakes(t *testing.T) {
	t.Helper()
	if !consistency.IsSupported() {
		t.Skip("controller-runtime is older than v0.25")
	}
}

// counted has the kit count the requests through a.
func counted(a access) access {
	counting := ensuretest.Count(a.client, a.reader)
	a.client, a.reader = counting, counting.APIReader()
	return a
}

// newFakeFixture is newFixture without a server.
func newFakeFixture(t *testing.T, k kindCase, namespace string) *fixture {
	t.Helper()
	c := ensuretest.NewClient(scheme)
	f := &fixture{
		kindCase: k, t: t, ctx: t.Context(), admin: c.Client, clock: &offset.Clock{}, namespace: namespace, childNamespace: namespace,
		access: access{client: c, reader: c.APIReader()},
	}
	if k.rename != nil {
		f.childNamespace = ""
		f.desired = func() client.Object {
			obj := k.desired()
			k.rename(obj, namespace)
			return obj
		}
	}
	f.owner, f.otherOwner = f.parent("owner"), f.parent("stranger")
	f.restart()
	return f
}

// runLifecycle takes a child through its life, step by step.
func (f *fixture) runLifecycle() []observation {
	f.t.Helper()
	var seen []observation
	note := func(o observation) { seen = append(seen, o) }

	note(f.reconciled("create"))
	f.awaitQuiet()
	note(f.reconciled("nothing to do"))
	note(f.changed("an update that changes nothing", edit{do: func(client.Object) {}}))
	for _, change := range append(f.edits, commonEdits...) {
		note(f.changed("edit: "+change.name, change))
		note(f.reconciled("after edit: " + change.name))
		f.awaitQuiet()
	}
	for _, add := range append(f.additions, commonAdditions...) {
		note(f.changed("addition: "+add.name, add))
		note(f.reconciled("after addition: " + add.name))
		f.awaitQuiet()
	}
	note(f.statusWritten())
	note(f.reconciled("after a status write"))
	f.awaitQuiet()

	desired := f.desired
	f.desired = func() client.Object {
		obj := desired()
		f.next(obj)
		return obj
	}
	note(f.reconciled("another desired state, as a dry run", ensure.DryRun()))
	note(f.reconciled("another desired state"))
	f.awaitQuiet()
	note(f.deletedByHand())
	note(f.reconciled("while it goes"))
	f.delete()
	note(f.reconciled("after deletion"))
	f.awaitQuiet()
	note(f.unwanted())
	return seen
}

// awaitQuiet lets the built-in controllers finish, and the operator see that.
func (f *fixture) awaitQuiet() {
	f.t.Helper()
	onServer := f.access.userAgent != ""
	f.await("a pass that asks nothing", func() bool {
		if onServer && f.settled != nil && !f.settled(f.live()) {
			return false
		}
		before := len(f.counter().Requests())
		_, err := f.ensure()
		require.NoError(f.t, err)
		return len(f.counter().Requests()) == before
	})
}

func (f *fixture) counter() *ensuretest.Client { return f.access.client.(*ensuretest.Client) }

// reconciled is a pass.
func (f *fixture) reconciled(step string, opts ...ensure.Option) observation {
	f.t.Helper()
	before := f.empty()
	require.NoError(f.t, client.IgnoreNotFound(f.admin.Get(f.ctx, client.ObjectKeyFromObject(before), before)))
	begin := len(f.counter().Requests())
	res, err := ensure.Object(f.ctx, f.ensurer, f.desired(), append(opts, ensure.ControlledBy(f.owner))...)
	o := observation{Step: step, Operation: res.Operation, Cause: res.Cause, Error: f.reasonOf(err)}
	for _, change := range res.Changes {
		o.Changes = append(o.Changes, f.plain(change.Path))
	}
	for _, request := range f.counter().Requests()[begin:] {
		verb := request.Verb
		if request.DryRun {
			verb += " (dry run)"
		}
		o.Requests = append(o.Requests, verb)
	}
	if err == nil {
		o.compare(before, res.Live)
	}
	return o
}

func (o *observation) compare(before, after client.Object) {
	o.Generation = after.GetGeneration() - before.GetGeneration()
	o.UID = after.GetUID() != ""
}

// plain returns a path without the parts that differ between two runs.
func (f *fixture) plain(path string) string {
	return strings.ReplaceAll(path, string(f.owner.GetUID()), "owner")
}

func (f *fixture) reasonOf(err error) string {
	if failed, ok := errors.AsType[*ensure.Error](err); ok {
		return failed.Reason
	}
	return ensure.Reason(err)
}

// changed records the effect of an update by the admin.
func (f *fixture) changed(step string, change edit) observation {
	f.t.Helper()
	f.clock.Advance(editInterval)
	return f.written(step, func(obj client.Object) error {
		change.do(obj)
		return f.admin.Update(f.ctx, obj, client.FieldOwner("kubectl-edit"))
	})
}

// statusWritten writes a status field that few kinds have and no controller uses: other kinds drop
// the field.
func (f *fixture) statusWritten() observation {
	f.t.Helper()
	return f.written("a status write", func(obj client.Object) error {
		status := `{"message":"written by a user"}`
		if obj.GetObjectKind().GroupVersionKind().Group == gadgetGVK.Group || f.name == "Gadget" {
			status = `{"phase":"Written"}`
		}
		patch := merge(fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":%s}`, obj.GetResourceVersion(), status))
		return f.admin.Status().Patch(f.ctx, obj, patch, client.FieldOwner("kubectl-edit"))
	})
}

// written records the effect of the admin's write to the child, which is retried after a conflict
// with a controller.
func (f *fixture) written(step string, write func(client.Object) error) observation {
	f.t.Helper()
	o := observation{Step: step}
	f.await(step, func() bool {
		before := f.live()
		after := before.DeepCopyObject().(client.Object)
		err := write(after)
		if apierrors.IsConflict(err) {
			return false
		}
		o.Error = f.reasonOf(err)
		if err == nil {
			o.compare(before, after)
			o.Moved = after.GetResourceVersion() != before.GetResourceVersion()
		}
		return true
	})
	return o
}

// deletedByHand deletes the child, which a finalizer keeps.
func (f *fixture) deletedByHand() observation {
	f.t.Helper()
	before := f.live()
	require.NotEmpty(f.t, before.GetFinalizers())
	err := f.admin.Delete(f.ctx, f.empty())
	o := observation{Step: "a deletion that waits", Error: f.reasonOf(err)}
	o.compare(before, f.live())
	return o
}

func (f *fixture) unwanted() observation {
	f.t.Helper()
	begin := len(f.counter().Requests())
	res, err := ensure.Absent(f.ctx, f.ensurer, f.desired(), ensure.ControlledBy(f.owner))
	o := observation{Step: "no longer wanted", Operation: res.Operation, Error: f.reasonOf(err)}
	for _, request := range f.counter().Requests()[begin:] {
		o.Requests = append(o.Requests, request.Verb)
	}
	return o
}
