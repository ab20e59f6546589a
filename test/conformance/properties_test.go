package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// A property is what holds for every kind, or for all but those that say why not.
type property struct {
	name  string
	check func(*bench)
	// excepted is what holds all the same where the property does not.
	excepted func(*bench)
}

const freeRestart = "a restart costs nothing"

var properties = []property{
	{name: "create is one request", check: (*bench).createIsOneRequest},
	{name: freeRestart, check: (*bench).restartCostsNothing, excepted: (*bench).restartWritesNothing},
	{name: "others' additions survive", check: (*bench).othersAdditionsSurvive},
	{name: "edits are put back", check: (*bench).editsArePutBack},
	{name: "what desired drops is gone", check: (*bench).droppedIsGone},
	{name: "deleted is made again", check: (*bench).deletedIsMadeAgain},
	{name: "terminating is left alone", check: (*bench).terminatingIsLeftAlone},
	{name: "foreign is left alone", check: (*bench).foreignIsLeftAlone},
}

func (b *bench) requireProperty(p property) {
	b.t.Helper()
	reason, excepted := b.exceptions[p.name]
	switch {
	case !excepted:
		p.check(b)
	case p.excepted != nil:
		b.t.Logf("not that %s: %s", p.name, reason)
		p.excepted(b)
	default:
		b.t.Fatalf("%s may not be excepted", p.name)
	}
}

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
					for _, p := range properties {
						b.requireProperty(p)
					}
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

// restartWritesNothing: where somebody else wrote last, a new process has to ask.
func (b *bench) restartWritesNothing() {
	b.t.Helper()
	b.restart()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Unchanged, "")
	b.requireAtMostOne(requests)
	b.requireFiveFreePasses("after a restart")
}

func (b *bench) othersAdditionsSurvive() {
	b.t.Helper()
	for _, add := range append(b.additions, commonAdditions...) {
		added := b.edit(add)
		res, requests := b.pass()
		b.requireOperation(res, ensure.Unchanged, "", add.name)
		b.requireAtMostOne(requests, add.name)
		b.requireSame(added, b.live(), add.name)
		_, requests = b.pass()
		b.requireWrites(requests, 0, add.name)
	}
	b.requireFiveFreePasses("after additions")
}

// editsArePutBack twice, so that what the first time left behind shows. What every
// kind has leaves nothing behind: once will do.
func (b *bench) editsArePutBack() {
	b.t.Helper()
	for _, change := range b.edits {
		b.isPutBack(change, " once")
		b.isPutBack(change, " again")
	}
	for _, change := range commonEdits {
		b.isPutBack(change, "")
	}
	b.requireFiveFreePasses("after edits")
}

func (b *bench) isPutBack(change edit, turn string) {
	b.t.Helper()
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
	b.createStrangers()
	b.restart()
	b.requireRefusal(ensure.ErrForeign)

	b.edit(edit{"a controller", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(b.t, b.stranger)) }})
	b.requireRefusal(ensure.ErrForeign)
}
