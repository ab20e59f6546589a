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
	a := plain(t)
	met := &differencesMet{}
	t.Run("kinds", func(t *testing.T) {
		for _, s := range subjects() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				onServer := newBench(t, counted(a), s)
				want, got := onServer.life(), newFakeBench(t, s, onServer.namespace).life()
				require.Len(t, got, len(want))
				for i := range want {
					met.require(t, s.name, want[i].Step, gocmp.Diff(want[i], got[i]))
				}
			})
		}
	})
	met.requireAll(t, lives)
}

// counted has the kit count the requests through a.
func counted(a access) access {
	counting := ensuretest.Count(a.client, a.reader)
	a.client, a.reader = counting, counting.APIReader()
	return a
}

// newFakeBench is newBench without a server.
func newFakeBench(t *testing.T, s subject, namespace string) *bench {
	t.Helper()
	c := ensuretest.NewClient(scheme)
	b := &bench{
		subject: s, t: t, ctx: t.Context(), human: c.Unwrap(), namespace: namespace, home: namespace,
		access: access{client: c, reader: c.APIReader()},
	}
	if s.rename != nil {
		b.home = ""
		b.desired = func() client.Object {
			obj := s.desired()
			s.rename(obj, namespace)
			return obj
		}
	}
	b.owner, b.stranger = b.parent("owner"), b.parent("stranger")
	b.restart()
	return b
}

// life takes a child through its life, step by step.
func (b *bench) life() []observation {
	b.t.Helper()
	var seen []observation
	note := func(o observation) { seen = append(seen, o) }

	note(b.reconciled("create"))
	b.calm()
	note(b.reconciled("nothing to do"))
	note(b.changed("an update that changes nothing", edit{do: func(client.Object) {}}))
	for _, change := range append(b.edits, commonEdits...) {
		note(b.changed("edit: "+change.name, change))
		note(b.reconciled("after edit: " + change.name))
		b.calm()
	}
	for _, add := range append(b.additions, commonAdditions...) {
		note(b.changed("addition: "+add.name, add))
		note(b.reconciled("after addition: " + add.name))
		b.calm()
	}
	note(b.statusWritten())
	note(b.reconciled("after a status write"))
	b.calm()

	desired := b.desired
	b.desired = func() client.Object {
		obj := desired()
		b.next(obj)
		return obj
	}
	note(b.reconciled("another desired state, as a dry run", ensure.DryRun()))
	note(b.reconciled("another desired state"))
	b.calm()
	note(b.deletedByHand())
	note(b.reconciled("while it goes"))
	b.delete()
	note(b.reconciled("after deletion"))
	b.calm()
	note(b.unwanted())
	return seen
}

// calm lets the built-in controllers finish, and the operator see that.
func (b *bench) calm() {
	b.t.Helper()
	onServer := b.access.agent != ""
	b.await("a pass that asks nothing", func() bool {
		if onServer && b.settled != nil && !b.settled(b.live()) {
			return false
		}
		before := len(b.counter().Requests())
		_, err := b.ensure()
		require.NoError(b.t, err)
		return len(b.counter().Requests()) == before
	})
}

func (b *bench) counter() *ensuretest.Client { return b.access.client.(*ensuretest.Client) }

// reconciled is a pass.
func (b *bench) reconciled(step string, opts ...ensure.Option) observation {
	b.t.Helper()
	before := b.empty()
	require.NoError(b.t, client.IgnoreNotFound(b.human.Get(b.ctx, client.ObjectKeyFromObject(before), before)))
	begin := len(b.counter().Requests())
	res, err := ensure.Object(b.ctx, b.ensurer, b.desired(), append(opts, ensure.ControlledBy(b.owner))...)
	o := observation{Step: step, Operation: res.Operation, Cause: res.Cause, Error: b.told(err)}
	for _, change := range res.Changes {
		o.Changes = append(o.Changes, b.plain(change.Path))
	}
	for _, request := range b.counter().Requests()[begin:] {
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
func (b *bench) plain(path string) string {
	return strings.ReplaceAll(path, string(b.owner.GetUID()), "owner")
}

func (b *bench) told(err error) string {
	if failed, ok := errors.AsType[*ensure.Error](err); ok {
		return failed.Reason
	}
	return ensure.Reason(err)
}

// changed is an update by a person.
func (b *bench) changed(step string, change edit) observation {
	b.t.Helper()
	return b.written(step, func(obj client.Object) error {
		change.do(obj)
		return b.human.Update(b.ctx, obj, client.FieldOwner("kubectl-edit"))
	})
}

// statusWritten writes a status field that few kinds have and no controller uses: other kinds drop
// the field.
func (b *bench) statusWritten() observation {
	b.t.Helper()
	return b.written("a status write", func(obj client.Object) error {
		status := `{"message":"written by a person"}`
		if obj.GetObjectKind().GroupVersionKind().Group == gadgetGVK.Group || b.name == "Gadget" {
			status = `{"phase":"Written"}`
		}
		patch := merge(fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":%s}`, obj.GetResourceVersion(), status))
		return b.human.Status().Patch(b.ctx, obj, patch, client.FieldOwner("kubectl-edit"))
	})
}

// written records the effect of a person's write to the child, which is retried after a conflict
// with a controller.
func (b *bench) written(step string, write func(client.Object) error) observation {
	b.t.Helper()
	o := observation{Step: step}
	b.await(step, func() bool {
		before := b.live()
		after := before.DeepCopyObject().(client.Object)
		err := write(after)
		if apierrors.IsConflict(err) {
			return false
		}
		o.Error = b.told(err)
		if err == nil {
			o.compare(before, after)
			o.Moved = after.GetResourceVersion() != before.GetResourceVersion()
		}
		return true
	})
	return o
}

// deletedByHand deletes the child, which a finalizer keeps.
func (b *bench) deletedByHand() observation {
	b.t.Helper()
	before := b.live()
	require.NotEmpty(b.t, before.GetFinalizers())
	err := b.human.Delete(b.ctx, b.empty())
	o := observation{Step: "a deletion that waits", Error: b.told(err)}
	o.compare(before, b.live())
	return o
}

func (b *bench) unwanted() observation {
	b.t.Helper()
	begin := len(b.counter().Requests())
	res, err := ensure.Absent(b.ctx, b.ensurer, b.desired(), ensure.ControlledBy(b.owner))
	o := observation{Step: "no longer wanted", Operation: res.Operation, Error: b.told(err)}
	for _, request := range b.counter().Requests()[begin:] {
		o.Requests = append(o.Requests, request.Verb)
	}
	return o
}
