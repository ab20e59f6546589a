package together

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// undoings is how often at most the same of an object has to be put back. Five times
	// within two minutes would be a contest, in which operators give way for a while.
	undoings = 3
	// namespaces is how many the objects are spread over.
	namespaces = 4
	// mortality is how many objects there are for each that is mortal.
	mortality = 10
)

// A deed is an act at a time.
type deed struct {
	at     time.Duration
	object *object
	act    act
	random *rand.Rand
}

func (d deed) String() string { return fmt.Sprintf("%s: %s %s", d.at, d.act.name, d.object.key) }

// newObjects returns the objects of a kind with their first specs.
func newObjects(k *kind, plan Plan) []*object {
	random := randomOf(plan.Seed, k.operator)
	objects := make([]*object, plan.Objects)
	for i := range objects {
		o := &object{
			kind:     k,
			key:      client.ObjectKey{Namespace: fmt.Sprintf("soak-%d", i%namespaces), Name: fmt.Sprintf("%s-%d", k.prefix, i)},
			isMortal: i%mortality == 0,
		}
		o.owner = o.rename(k.newOwner())
		k.edit(random, o.owner)
		objects[i] = o
	}
	return objects
}

// deedsOf returns the deeds of a hand for its objects, whatever their results.
func deedsOf(plan Plan, name string, objects []*object) []deed {
	random := randomOf(plan.Seed, name)
	left := slices.Clone(objects)
	acts := map[*kind][]act{}
	for _, o := range objects {
		if acts[o.kind] == nil {
			acts[o.kind] = o.kind.all()
		}
	}
	undone := map[string]int{}
	var deeds []deed
	for at := plan.Pause; at < plan.Storm && len(left) > 0; at += plan.Pause {
		o := pickOfAKind(random, left)
		a := pick(random, possible(o, acts[o.kind], undone)...)
		deeds = append(deeds, deed{at: at, object: o, act: a, random: rand.New(rand.NewPCG(random.Uint64(), 0))})
		undone[undoingOf(o, a)]++
		if a.isLast {
			left = slices.DeleteFunc(left, func(other *object) bool { return other == o })
		}
	}
	return deeds
}

// pickOfAKind picks a kind first, as all have to have their share.
func pickOfAKind(random *rand.Rand, objects []*object) *object {
	var kinds []*kind
	for _, o := range objects {
		if !slices.Contains(kinds, o.kind) {
			kinds = append(kinds, o.kind)
		}
	}
	k := pick(random, kinds...)
	of := slices.DeleteFunc(slices.Clone(objects), func(o *object) bool { return o.kind != k })
	return pick(random, of...)
}

// possible returns the acts that may be done to the object.
func possible(o *object, acts []act, undone map[string]int) []act {
	return slices.DeleteFunc(slices.Clone(acts), func(a act) bool {
		return a.isOrphaning && o.isMortal || a.isLast && !o.isMortal || a.undoes != "" && undone[undoingOf(o, a)] >= undoings
	})
}

func undoingOf(o *object, a act) string { return o.key.String() + " " + a.undoes }

// randomOf returns a random source for each name, independent of other names.
func randomOf(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
