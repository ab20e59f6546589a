package ensure

import (
	"bytes"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/paths"
)

// A KeptField is a field that the live object has although desired dropped it, such as spec.clusterIP, or that an earlier
// version of the operator set and desired lacks.
type KeptField struct {
	Path string
	// Manager is another field manager that owns the field; empty if nobody does: the API server keeps the value, as
	// it does a cluster IP or a node port, or the value is the default.
	Manager string
}

// String returns the path and the manager.
func (k KeptField) String() string { return layer.KeptField(k).String() }

// keptIn returns the fields of before that our applies gave up, and that after, the answer to the write, still has:
// those of other managers, and values of nobody that did not change. If before has no managed fields, nothing shows
// which fields were dropped.
func (u update) keptIn(before client.Object, applied application) []layer.KeptField {
	after := applied.after
	left := u.Operator.Owned(after)
	if applied.tried { // which changes no owner
		left = managedfields.Owned{}
	}
	dropped := slices.DeleteFunc(u.Operator.Owned(before).Without(left), u.IsLeft)
	lists, _ := u.emptyListsOfDesired(after) // desired was encoded before
	if len(dropped) == 0 && len(lists) == 0 {
		return nil
	}
	was, errBefore := delta.Values(before)
	found, errAfter := delta.Values(after)
	wanted, errWanted := delta.Values(u.desiredWithDigest)
	if errBefore != nil || errAfter != nil || errWanted != nil {
		return nil // all of them were read before
	}
	var kept []layer.KeptField
	var last fieldpath.Path // that is kept; the fields of an item are not named
	others := managedfields.OwnersIn(managedfields.Others(after, u.Operator.FieldOwner))
	for _, path := range dropped {
		steps := managedfields.Steps(path)
		if isInside(path, last) || wanted(steps) != nil || found(steps) == nil {
			continue
		}
		field := layer.KeptField{Path: textOf(u.Desired, path), Manager: others.Holding(path)}
		if field.Manager != "" || bytes.Equal(found(steps), was(steps)) {
			last, kept = path, append(kept, field)
		}
	}
	for _, path := range lists {
		if u.isNobodys(after, path, found(managedfields.Steps(path))) {
			kept = append(kept, layer.KeptField{Path: textOf(u.Desired, path)})
		}
	}
	return kept
}

// isInside reports whether path leads to another one, which may be nil, or inside.
func isInside(path, other fieldpath.Path) bool {
	return len(other) > 0 && managedfields.HasPrefix(path, other)
}

// textOf returns a path in the form of Change.Path.
func textOf(desired client.Object, path fieldpath.Path) string {
	goType := reflect.TypeOf(desired)
	if kinds.IsDynamic(desired) {
		goType = nil
	}
	at, text := canon.ShapeOf(goType), ""
	for i, step := range managedfields.Steps(path) {
		if path[i].FieldName != nil {
			at, text = at.Member(text, step)
			continue
		}
		at, _ = at.Items()
		text = paths.Item(text, step)
	}
	return text
}
