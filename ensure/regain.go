package ensure

import (
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// This field owner can lose fields although every value stays: somebody changes a value and changes
// the value back, or empties the managed fields. The next apply makes this field owner an owner again,
// but beside another manager, for whom the API server keeps fields that desired drops later. So a
// loss is noticed, and the fields are taken from the other manager.

// beforeFirstApply is the manager whose updates the API server says all that is there to be,
// when something is applied to an object without managed fields.
const beforeFirstApply = "before-first-apply"

// lost returns the fields of updates in which live is as desired, as far as this field owner does not
// own them although desired was applied.
func (o *ownership) lost(live client.Object, own *fieldpath.Set) *fieldpath.Set {
	lost := fieldpath.NewSet()
	if stored, adopted := o.storedIn(live); adopted || stored != o.digest {
		return lost
	}
	wanted, err := delta.Values(o.applied(o.desired))
	if err != nil {
		return lost // desired was read before
	}
	found, err := delta.Values(live)
	if err != nil {
		return lost
	}
	for _, at := range managedfields.Updates(live) {
		fields := managedfields.Fields(&live.GetManagedFields()[at]).Leaves()
		fields.Difference(own).Iterate(func(path fieldpath.Path) {
			steps := managedfields.Steps(path)
			if value := wanted(steps); value != nil && reflect.DeepEqual(value, found(steps)) {
				lost.Insert(path.Copy())
			}
		})
	}
	return lost
}

// regain removes our fields from the entries of other updates in live, except for the entries old,
// which are taken over as a whole. It returns the fields that this field owner had not applied before.
func (o *ownership) regain(p *managedfields.Patch, live client.Object, old []int) *fieldpath.Set {
	own := o.ownedIn(live)
	lost := o.lost(live, own)
	var nobodys, others []int
	for _, at := range managedfields.Updates(live) {
		manager := live.GetManagedFields()[at].Manager
		switch {
		case slices.Contains(old, at):
		case manager == o.fieldOwner || manager == beforeFirstApply && !o.adopted:
			nobodys = append(nobodys, at)
		default:
			others = append(others, at)
		}
	}
	return p.Strike(nobodys, own.Union(lost).Has).Union(p.Strike(others, lost.Has))
}

// entryIn returns a fingerprint of the fields of live that this field owner has applied, except for
// those that Once names. It is empty if live has no managed fields.
func (o *ownership) entryIn(live client.Object) string {
	own := managedfields.Applied(live, o.fieldOwner)
	if own == nil || own.FieldsV1 == nil {
		return ""
	}
	if len(o.unsent) > 0 {
		rest := managedfields.WithFields(*own, o.withoutHanded(managedfields.Fields(own)))
		own = &rest
	}
	return digestOf(own.FieldsV1.GetRawBytes())
}
