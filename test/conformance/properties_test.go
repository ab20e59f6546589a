package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// TestProperties takes every kind through its life, with every sort of client.
func TestProperties(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			c := m.open(t)
			for _, s := range subjects() {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					b := newBench(t, c, s)
					b.createIsOneRequest()
					b.restartCostsNothing()
					b.othersAdditionsSurvive()
					b.editsArePutBack()
					b.droppedIsGone()
					b.deletedIsMadeAgain()
					b.terminatingIsLeftAlone()
					b.foreignIsLeftAlone()
				})
			}
		})
	}
}

func (b *bench) createIsOneRequest() {
	b.t.Helper()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Created, ensure.Missing)
	b.requireWrites(requests, 1)
	b.requireFiveFreePasses("after create")
}

// restartCostsNothing: another process that remembers nothing, and objects that
// nobody touched.
func (b *bench) restartCostsNothing() {
	b.t.Helper()
	b.restart()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Unchanged, "")
	b.requireWrites(requests, 0)
}

func (b *bench) othersAdditionsSurvive() {
	b.t.Helper()
	for _, add := range append(b.additions, commonAdditions...) {
		added := b.edit(add)
		res, requests := b.pass()
		b.requireOperation(res, ensure.Unchanged, "", add.name)
		b.requireAtMost(requests, 1, add.name)
		b.requireSame(added, b.live(), add.name)
		_, requests = b.pass()
		b.requireWrites(requests, 0, add.name)
	}
	b.requireFiveFreePasses("after additions")
}

// editsArePutBack twice, so that what the first time left behind shows.
func (b *bench) editsArePutBack() {
	b.t.Helper()
	for _, change := range append(b.edits, commonEdits...) {
		for _, turn := range []string{" once", " again"} {
			name := change.name + turn
			before := b.live()
			b.edit(change)
			res, requests := b.pass()
			b.requireOperation(res, ensure.Updated, ensure.Drifted, name)
			require.NotEmpty(b.t, res.Changes, name)
			b.requireWrites(requests, 1, name)
			b.requireSame(before, b.live(), name)
			b.settle()
		}
	}
	b.requireFiveFreePasses("after edits")
}

func (b *bench) droppedIsGone() {
	b.t.Helper()
	desired := b.desired
	b.desired = func() client.Object {
		obj := desired()
		b.next(obj)
		return obj
	}
	res, requests := b.pass()
	b.requireOperation(res, ensure.Updated, ensure.DesiredChanged)
	b.requireWrites(requests, 1)
	require.True(b.t, b.gone(b.live()), "what desired dropped is still there")
	b.requireFiveFreePasses("after a change of desired")
}

func (b *bench) deletedIsMadeAgain() {
	b.t.Helper()
	b.delete()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Created, ensure.Missing)
	b.requireWrites(requests, 1)
	b.requireFiveFreePasses("after deletion")
}

func (b *bench) terminatingIsLeftAlone() {
	b.t.Helper()
	b.edit(foreignFinalizer)
	require.NoError(b.t, b.human.Delete(b.ctx, b.live()))
	b.requireRefusal(ensure.ErrTerminating)
	b.delete()
}

func (b *bench) foreignIsLeftAlone() {
	b.t.Helper()
	stranger := b.desired()
	stranger.SetNamespace(b.namespace)
	require.NoError(b.t, b.human.Create(b.ctx, stranger))
	b.restart()
	b.requireRefusal(ensure.ErrForeign)

	b.edit(edit{"a controller", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(b.stranger)) }})
	b.requireRefusal(ensure.ErrForeign)
}
