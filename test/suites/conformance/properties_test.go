package conformance_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
)

// A property holds for every kind, except for kinds that give a reason.
type property struct {
	name  string
	check func(*bench)
	// excepted checks a weaker property of the exceptions.
	excepted func(*bench)
}

// The names of the properties: here those of a child's life; refusals_test.go has those about
// refusals.
const (
	oneRequest  = "create is one request"
	free        = "nothing to do costs nothing"
	freeRestart = "a restart costs nothing"
	additions   = "others' additions survive"
	edits       = "edits are put back"
	lateEdits   = "edits are put back after a restart"
	dropped     = "what desired drops is gone"
	deleted     = "deleted is made again"
	terminating = "terminating is left alone"
	foreign     = "foreign is left alone"
)

var properties = []property{
	{name: oneRequest, check: (*bench).createIsOneRequest},
	{name: freeRestart, check: (*bench).restartCostsNothing, excepted: (*bench).restartWritesNothing},
	{name: additions, check: (*bench).othersAdditionsSurvive},
	{name: edits, check: (*bench).editsArePutBack},
	{name: dropped, check: (*bench).droppedIsGone},
	{name: deleted, check: (*bench).deletedIsMadeAgain},
	{name: foreign, check: (*bench).foreignIsLeftAlone},
	{name: terminating, check: (*bench).terminatingIsLeftAlone},
}

func (b *bench) requireProperty(p property) {
	b.t.Helper()
	reason, excepted := b.exceptions[p.name]
	switch {
	case !excepted:
		p.check(b)
	case p.excepted != nil:
		p.excepted(b)
		b.excepts(p.name, reason, "")
	default:
		b.t.Fatalf("%s may not be excepted", p.name)
	}
}

// TestProperties takes every kind through its life, with every sort of client.
func TestProperties(t *testing.T) {
	benches(t, subjects(), everyMode, func(b *bench) {
		for _, p := range properties {
			b.requireProperty(p)
		}
	})
}

func (b *bench) createIsOneRequest() {
	b.t.Helper()
	b.isCreated("at first")
	b.shows(oneRequest)
	b.requireFiveFreePasses("after create")
}

// isCreated requires one request for the creation, and none afterwards for a kind that no built-in
// controller changes.
func (b *bench) isCreated(when string) {
	b.t.Helper()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Created, ensure.Missing, when)
	b.requireWrites(requests, 1, when)
	if b.settled == nil {
		b.awaitWritten(res.Live)
		b.requireFreePass("right after create, " + when)
	}
}

// restartCostsNothing: another process that remembers nothing, and objects that
// nobody touched.
func (b *bench) restartCostsNothing() {
	b.t.Helper()
	b.restart()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Unchanged, "")
	b.requireWrites(requests, 0)
	b.shows(freeRestart)
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
		b.shows(additions)
	}
	b.requireFiveFreePasses("after additions")
}

// editsArePutBack edits twice, to show anything that the first repair left behind. The second
// repair is done by a restarted process.
func (b *bench) editsArePutBack() {
	b.t.Helper()
	for _, change := range append(b.edits, commonEdits...) {
		before := b.live()
		b.edit(change)
		b.isPutBack(before, change.name)
		b.shows(edits)

		b.edit(change)
		b.restart()
		if change.name == noDigest {
			b.isClaimedAgain(before)
			continue
		}
		if b.access.bare && slices.Contains(atomicAdditions[b.name], change.name) {
			b.isOverlooked(before, change.name)
			continue
		}
		b.isPutBack(before, change.name+", seen after a restart")
		b.shows(lateEdits)
	}
	b.requireFiveFreePasses("after edits")
}

// editIsPutBack once.
func (b *bench) editIsPutBack(change edit) {
	b.t.Helper()
	before := b.live()
	b.edit(change)
	b.isPutBack(before, change.name)
}

func (b *bench) isPutBack(before client.Object, about string) {
	b.t.Helper()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Updated, ensure.Drifted, about)
	require.NotEmpty(b.t, res.Changes, about)
	b.requireWrites(requests, 1, about)
	b.requireSameOrAdopted(before, b.live(), about)
	b.settle()
}

// isClaimedAgain is isPutBack for an object without a digest, which the managed fields have to
// show to be ours.
func (b *bench) isClaimedAgain(before client.Object) {
	b.t.Helper()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Updated, ensure.Drifted)
	b.requireRequests(requests, 1, b.asked())
	b.requireSameOrAdopted(before, b.live())
	b.settle()
	b.shows(lateEdits)
}

// noDigest is the edit that removes the digest.
const noDigest = "no digest"

// atomicAdditions are the edits, by subject, that add to an atomic part and change none of its
// specified fields.
var atomicAdditions = map[string][]string{
	"DaemonSet":                      {"a toleration"},
	"PodDisruptionBudget":            {"a selector key more"},
	"RuntimeClass":                   {"a node label more"},
	"LimitRange":                     {"a minimum beside ours"},
	"Service":                        {"a selector key more"},
	"Service of type ClusterIP":      {"a selector key more"},
	"headless Service":               {"a selector key more"},
	"Service of type LoadBalancer":   {"a selector key more"},
	"EndpointSlice":                  {"a condition beside ours"},
	"NetworkPolicy":                  {"narrowed to some namespaces", "a selector key more"},
	"NetworkPolicy that closes":      {"some pods only"},
	"NetworkPolicy that opens":       {"narrowed to namespaces", "narrowed to a port"},
	"ValidatingWebhookConfiguration": {"fewer objects"},
	"MutatingWebhookConfiguration":   {"a scope"},
	"ValidatingAdmissionPolicy":      {"a reason"},
}

// isOverlooked: an addition inside an atomic part is visible in the managed fields only. The repair
// of the next visible edit removes the addition.
func (b *bench) isOverlooked(before client.Object, name string) {
	b.t.Helper()
	res, requests := b.pass()
	b.requireOperation(res, ensure.Unchanged, "", name)
	b.requireWrites(requests, 0, name)
	b.edit(b.drift())
	b.isPutBack(before, name+", and an edit that shows")
	b.excepts(lateEdits, "a cache without managed fields does not show what was added inside an atomic part "+
		"while the operator was down; it goes with the next write", name)
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
	b.shows(dropped)
	b.requireFiveFreePasses("after a change of desired")
}

func (b *bench) deletedIsMadeAgain() {
	b.t.Helper()
	b.delete()
	b.isCreated("after deletion")
	b.shows(deleted)
	b.requireFiveFreePasses("after deletion")
}

func (b *bench) foreignIsLeftAlone() {
	b.t.Helper()
	b.delete()
	b.createStrangers()
	b.restart()
	b.requireRefusal(ensure.ErrForeign, b.asked())
	b.shows(foreign)

	b.edit(edit{"a controller", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(b.t, b.stranger)) }})
	b.requireRefusal(ensure.ErrForeign, 0)
	b.shows(foreign)
}

// asked returns how often the operator asks the server whether an uncontrolled object without
// digest has our Apply entry.
func (b *bench) asked() int {
	if b.access.bare {
		return 1
	}
	return 0
}

func (b *bench) terminatingIsLeftAlone() {
	b.t.Helper()
	b.delete()
	b.isCreated("to be deleted")
	b.edit(foreignFinalizer)
	require.NoError(b.t, b.human.Delete(b.ctx, b.live()))
	b.requireRefusal(ensure.ErrTerminating, 0)
	b.shows(terminating)
}
