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
	// maxReverts is how often at most the same of an object has to be put back. Five times
	// within two minutes would be a contest, in which operators give way for a while.
	maxReverts = 3
	// namespaces is how many the objects are spread over.
	namespaces = 4
	// objectsPerRemovable is the number of objects for each that may be removed.
	objectsPerRemovable = 10
)

// A scheduledAction is an action at a time.
type scheduledAction struct {
	at     time.Duration
	object *object
	action action
	random *rand.Rand
}

func (d scheduledAction) String() string {
	return fmt.Sprintf("%s: %s %s", d.at, d.action.name, d.object.key)
}

// newObjects returns the objects of a kind with their first specs.
func newObjects(k *kind, plan Plan) []*object {
	random := randomOf(plan.Seed, k.operator)
	objects := make([]*object, plan.Objects)
	for i := range objects {
		o := &object{
			kind:        k,
			key:         client.ObjectKey{Namespace: fmt.Sprintf("soak-%d", i%namespaces), Name: fmt.Sprintf("%s-%d", k.prefix, i)},
			isRemovable: i%objectsPerRemovable == 0,
		}
		o.owner = o.rename(k.newOwner())
		k.edit(random, o.owner)
		objects[i] = o
	}
	return objects
}

// planActions returns the actions of a worker on its objects, whatever their results.
func planActions(plan Plan, name string, objects []*object) []scheduledAction {
	random := randomOf(plan.Seed, name)
	left := slices.Clone(objects)
	actions := map[*kind][]action{}
	for _, o := range objects {
		if actions[o.kind] == nil {
			actions[o.kind] = o.kind.allActions()
		}
	}
	reverted := map[string]int{}
	var planned []scheduledAction
	for at := plan.Pause; at < plan.Storm && len(left) > 0; at += plan.Pause {
		o := pickOfAKind(random, left)
		a := pick(random, possible(o, actions[o.kind], reverted)...)
		planned = append(planned, scheduledAction{at: at, object: o, action: a, random: rand.New(rand.NewPCG(random.Uint64(), 0))})
		reverted[revertKey(o, a)]++
		if a.isLast {
			left = slices.DeleteFunc(left, func(other *object) bool { return other == o })
		}
	}
	return planned
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

// possible returns the actions that may be done to the object.
func possible(o *object, actions []action, reverted map[string]int) []action {
	return slices.DeleteFunc(slices.Clone(actions), func(a action) bool {
		return a.isOrphaning && o.isRemovable || a.isLast && !o.isRemovable || a.reverts != "" && reverted[revertKey(o, a)] >= maxReverts
	})
}

func revertKey(o *object, a action) string { return o.key.String() + " " + a.reverts }

// randomOf returns a random source for each name, independent of other names.
func randomOf(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
