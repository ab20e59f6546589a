package ensure

import (
	"bytes"
	"context"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/delta"
	"github.com/trueup-go/trueup/internal/managedfields"
	"github.com/trueup-go/trueup/internal/obstacle"
)

// A KeptField is a field that the live object has although desired dropped it, such as spec.clusterIP.
type KeptField struct {
	Path string
	// Manager is another field manager that owns the field; empty if nobody does: the API server keeps the value, as
	// it does a cluster IP, a node port, or the default of a list.
	Manager string
}

// String returns the path and the manager.
func (k KeptField) String() string {
	if k.Manager == "" {
		return k.Path
	}
	return k.Path + " (set by " + k.Manager + ")"
}

// keptIn returns the fields that desired dropped and that after, the answer to the write of before, still has: those
// of other managers, and values of nobody that a new object would not have. A dry run shows the latter; it is sent
// only if there are such values. If before has no managed fields, nothing shows which fields were dropped.
func (u update) keptIn(ctx context.Context, before, after client.Object) []KeptField {
	was, errBefore := delta.Values(before)
	found, errAfter := delta.Values(after)
	wanted, errWanted := delta.Values(u.desiredWithDigest)
	if errBefore != nil || errAfter != nil || errWanted != nil {
		return nil // all of them were read before
	}
	var (
		kept           []KeptField
		whole, nobodys []fieldpath.Path
	)
	others := managedfields.Others(after, u.fieldOwner)
	for path := range u.withoutReleasedPaths(u.ownedIn(before).Difference(u.ownedIn(after))).All() {
		steps, text := managedfields.Steps(path), managedfields.Text(path)
		manager := managedfields.ManagerOf(others, text)
		isInside := slices.ContainsFunc(whole, func(outer fieldpath.Path) bool { return managedfields.HasPrefix(path, outer) })
		switch value := found(steps); {
		case value == nil || wanted(steps) != nil || isInside:
		case manager != "":
			whole, kept = append(whole, path.Copy()), append(kept, KeptField{Path: text, Manager: manager})
		case reflect.DeepEqual(value, was(steps)):
			nobodys = append(nobodys, path.Copy())
		}
	}
	for _, path := range u.withoutDefaults(ctx, append(nobodys, u.unemptied(after, found)...), found) {
		kept = append(kept, KeptField{Path: managedfields.Text(path)})
	}
	return kept
}

// unemptied returns the lists that desired has empty, and that have items of nobody, such as a default.
func (u update) unemptied(after client.Object, found func([]string) any) []fieldpath.Path {
	body, err := u.bodyToApply("")
	if err != nil || !bytes.Contains(body, []byte("[]")) {
		return nil
	}
	desired, err := u.candidate(u.desiredToApply())
	if err != nil {
		return nil
	}
	others := managedfields.Others(after, u.fieldOwner)
	return slices.DeleteFunc(obstacle.EmptyLists(desired.Object, u.ownedIn(after)), func(path fieldpath.Path) bool {
		items, _ := found(managedfields.Steps(path)).([]any)
		return len(items) == 0 || managedfields.ManagerOf(others, managedfields.Text(path)) != ""
	})
}

// withoutDefaults returns those of paths where a new object would not have the value that is found. If the API server
// does not show a new object, it returns all paths.
func (u update) withoutDefaults(ctx context.Context, nobodys []fieldpath.Path, found func([]string) any) []fieldpath.Path {
	if len(nobodys) == 0 {
		return nil
	}
	created, err := u.createElsewhere(ctx, nil)
	if err != nil || created == nil {
		return nobodys
	}
	born, err := delta.Values(created)
	if err != nil {
		return nobodys
	}
	return slices.DeleteFunc(nobodys, func(path fieldpath.Path) bool {
		steps := managedfields.Steps(path)
		return reflect.DeepEqual(born(steps), found(steps))
	})
}
