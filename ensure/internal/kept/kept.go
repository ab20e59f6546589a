// Package kept finds the fields that a live object has although desired lacks them.
package kept

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/server"
	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/migrate"
	"github.com/trueup-go/trueup/internal/object"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// In returns the fields of before that our applies gave up, and that after, the answer to the write, still has:
// those of other managers, and values of nobody that did not change. If before has no managed fields, nothing shows
// which fields were dropped.
func In(a *server.Applier, before client.Object, applied server.Application) []layer.KeptField {
	child, after := a.Server.Child, applied.After
	left := child.Operator.Owned(after)
	if applied.IsTried { // which changes no owner
		left = managedfields.Owned{}
	}
	dropped := slices.DeleteFunc(child.Operator.Owned(before).Without(left), child.IsLeft)
	lists, _ := a.EmptyLists(after) // desired was encoded before
	if len(dropped) == 0 && len(lists) == 0 {
		return nil
	}
	desired, _ := a.Stamped() // as it was applied
	was, errBefore := delta.Values(before)
	found, errAfter := delta.Values(after)
	wanted, errWanted := delta.Values(desired)
	if errors.Join(errBefore, errAfter, errWanted) != nil {
		return nil // all of them were read before
	}
	var kept []layer.KeptField
	var last fieldpath.Path // that is kept; the fields of an item are not named
	others := managedfields.OwnersIn(managedfields.Others(after, child.Operator.FieldOwner))
	for _, path := range dropped {
		steps := managedfields.Steps(path)
		if isInside(path, last) || wanted(steps) != nil || found(steps) == nil {
			continue
		}
		field := layer.KeptField{Path: textOf(child.Desired, path), Manager: others.Holding(path)}
		if field.Manager != "" || bytes.Equal(found(steps), was(steps)) {
			last, kept = path, append(kept, field)
		}
	}
	for _, path := range lists {
		if found(managedfields.Steps(path)).HasItems() && others.Holding(path) == "" {
			kept = append(kept, layer.KeptField{Path: textOf(child.Desired, path)})
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
	return managedfields.TextIn(canon.ShapeOf(goType), path)
}

// ByOlder returns the fields of live, the answer to an apply, that older versions set and that desired lacks, without
// those that have their default.
func ByOlder(ctx context.Context, a *server.Applier, live client.Object) []layer.KeptField {
	child := a.Server.Child
	content, err := object.Content(live)
	if err != nil {
		return nil // the answer was read before
	}
	left := slices.DeleteFunc(a.Rules().Left(live), func(field migrate.Field) bool {
		value, _, isThere := obstacle.Lookup(content, field.Path)
		members, isObject := value.(map[string]any)
		return !isThere && !isUnknown(child, field.Path) || isObject && len(members) == 0 // as Go structs are
	})
	var fresh map[string]any
	if slices.ContainsFunc(left, func(field migrate.Field) bool { return !managedfields.IsAt(field.Path, []string{"metadata"}) }) {
		if created, err := a.Elsewhere(ctx, live); err == nil && created != nil { // else nothing tells the defaults
			fresh = created.Object
		}
	}
	var kept []layer.KeptField
	for _, field := range left {
		value, _, _ := obstacle.Lookup(content, field.Path)
		standard, _, hasDefault := obstacle.Lookup(fresh, field.Path)
		if hasDefault && reflect.DeepEqual(value, standard) {
			continue
		}
		kept = append(kept, layer.KeptField{Path: textOf(child.Desired, field.Path), Manager: field.Manager})
	}
	return kept
}

// isUnknown reports whether the Go type of desired lacks a field.
func isUnknown(child *layer.Child, path fieldpath.Path) bool {
	_, err := delta.Specifies(child.Kind.Empty(child.Desired), managedfields.Steps(path))
	return err != nil
}
