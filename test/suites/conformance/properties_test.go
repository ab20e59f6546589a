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
	check func(*fixture)
	// excepted checks a weaker property of the exceptions.
	excepted func(*fixture)
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
	{name: oneRequest, check: (*fixture).createIsOneRequest},
	{name: freeRestart, check: (*fixture).restartCostsNothing, excepted: (*fixture).restartWritesNothing},
	{name: additions, check: (*fixture).othersAdditionsSurvive},
	{name: edits, check: (*fixture).editsArePutBack},
	{name: dropped, check: (*fixture).droppedIsGone},
	{name: deleted, check: (*fixture).deletedIsMadeAgain},
	{name: foreign, check: (*fixture).foreignIsLeftAlone},
	{name: terminating, check: (*fixture).terminatingIsLeftAlone},
}

func (f *fixture) requireProperty(p property) {
	f.t.Helper()
	reason, excepted := f.exceptions[p.name]
	switch {
	case !excepted:
		p.check(f)
	case p.excepted != nil:
		p.excepted(f)
		f.excepts(p.name, reason, "")
	default:
		f.t.Fatalf("%s may not be excepted", p.name)
	}
}

// TestProperties takes every kind through its life, with every sort of client.
func TestProperties(t *testing.T) {
	forEachFixture(t, kindCases(), everyMode, func(f *fixture) {
		for _, p := range properties {
			f.requireProperty(p)
		}
	})
}

func (f *fixture) createIsOneRequest() {
	f.t.Helper()
	f.isCreated("at first", 0)
	f.noteShown(oneRequest)
	f.requireFiveFreePasses("after create")
}

// isCreated requires one write for the creation and this many reads, and none afterwards for a kind that no built-in
// controller changes.
func (f *fixture) isCreated(when string, reads int) {
	f.t.Helper()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Created, ensure.Missing, when)
	f.requireRequests(requests, 1, reads, when)
	if f.settled == nil {
		f.awaitWritten(res.Live)
		f.requireFreePass("right after create, " + when)
	}
}

// restartCostsNothing: another process that remembers nothing, and objects that
// nobody touched.
func (f *fixture) restartCostsNothing() {
	f.t.Helper()
	f.restart()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Unchanged, "")
	f.requireWrites(requests, 0)
	f.noteShown(freeRestart)
}

// restartWritesNothing: where somebody else wrote last, a new process has to ask.
func (f *fixture) restartWritesNothing() {
	f.t.Helper()
	f.restart()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Unchanged, "")
	f.requireAtMostOne(requests)
	f.requireFiveFreePasses("after a restart")
}

func (f *fixture) othersAdditionsSurvive() {
	f.t.Helper()
	for _, add := range append(f.additions, commonAdditions...) {
		added := f.edit(add)
		res, requests := f.pass()
		f.requireOperation(res, ensure.Unchanged, "", add.name)
		f.requireAtMostOne(requests, add.name)
		f.requireSame(added, f.live(), add.name)
		_, requests = f.pass()
		f.requireWrites(requests, 0, add.name)
		f.noteShown(additions)
	}
	f.requireFiveFreePasses("after additions")
}

// editsArePutBack edits twice, to show anything that the first repair left behind. The second
// repair is done by a restarted process.
func (f *fixture) editsArePutBack() {
	f.t.Helper()
	for _, change := range append(f.edits, commonEdits...) {
		before := f.live()
		f.edit(change)
		f.isPutBack(before, change.name)
		f.noteShown(edits)

		f.edit(change)
		f.restart()
		if change.name == noDigest {
			f.isClaimedAgain(before)
			continue
		}
		if f.access.withoutManagedFields && slices.Contains(atomicAdditions[f.name], change.name) {
			f.isOverlooked(before, change.name)
			continue
		}
		f.isPutBack(before, change.name+", seen after a restart")
		f.noteShown(lateEdits)
	}
	f.requireFiveFreePasses("after edits")
}

// editIsPutBack once.
func (f *fixture) editIsPutBack(change edit) {
	f.t.Helper()
	before := f.live()
	f.edit(change)
	f.isPutBack(before, change.name)
}

func (f *fixture) isPutBack(before client.Object, about string) {
	f.t.Helper()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Updated, ensure.Drifted, about)
	require.NotEmpty(f.t, res.Changes, about)
	f.requireWrites(requests, 1, about)
	f.requireSameOrAdopted(before, f.live(), about)
	f.settle()
}

// isClaimedAgain is isPutBack for an object without a digest, which the managed fields have to
// show to be ours.
func (f *fixture) isClaimedAgain(before client.Object) {
	f.t.Helper()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Updated, ensure.Drifted)
	f.requireRequests(requests, 1, f.asked())
	f.requireSameOrAdopted(before, f.live())
	f.settle()
	f.noteShown(lateEdits)
}

// noDigest is the edit that removes the digest.
const noDigest = "no digest"

// atomicAdditions are the edits, by kind, that add to an atomic part and change none of its
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
func (f *fixture) isOverlooked(before client.Object, name string) {
	f.t.Helper()
	res, requests := f.pass()
	f.requireOperation(res, ensure.Unchanged, "", name)
	f.requireWrites(requests, 0, name)
	f.edit(f.drift())
	f.isPutBack(before, name+", and an edit that shows")
	f.excepts(lateEdits, "a cache without managed fields does not show what was added inside an atomic part "+
		"while the operator was down; it goes with the next write", name)
}

func (f *fixture) droppedIsGone() {
	f.t.Helper()
	desired := f.desired
	f.desired = func() client.Object {
		obj := desired()
		f.next(obj)
		return obj
	}
	res, requests := f.pass()
	f.requireOperation(res, ensure.Updated, ensure.DesiredChanged)
	f.requireWrites(requests, 1)
	require.True(f.t, f.gone(f.live()), "what desired dropped is still there")
	f.noteShown(dropped)
	f.requireFiveFreePasses("after a change of desired")
}

func (f *fixture) deletedIsMadeAgain() {
	f.t.Helper()
	const ofTheOwner = 1 // which may be the reason for the deletion
	f.delete()
	f.isCreated("after deletion", ofTheOwner)
	f.noteShown(deleted)
	f.requireFiveFreePasses("after deletion")
}

func (f *fixture) foreignIsLeftAlone() {
	f.t.Helper()
	f.delete()
	f.createForeign()
	f.restart()
	f.requireRefusal(ensure.ErrForeign, f.asked())
	f.noteShown(foreign)

	f.edit(edit{"a controller", func(obj client.Object) { obj.SetOwnerReferences(controlledBy(f.t, f.otherOwner)) }})
	f.requireRefusal(ensure.ErrForeign, 0)
	f.noteShown(foreign)
}

// asked returns how often the operator asks the server whether an uncontrolled object without
// digest has our Apply entry.
func (f *fixture) asked() int {
	if f.access.withoutManagedFields {
		return 1
	}
	return 0
}

func (f *fixture) terminatingIsLeftAlone() {
	f.t.Helper()
	f.delete()
	f.isCreated("to be deleted", 0)
	f.edit(foreignFinalizer)
	require.NoError(f.t, f.admin.Delete(f.ctx, f.live()))
	f.requireRefusal(ensure.ErrTerminating, 0)
	f.noteShown(terminating)
}
