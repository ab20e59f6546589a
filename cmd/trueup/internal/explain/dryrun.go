package explain

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// NewDryRun returns the effect of an apply that the API server accepted: the differences between live and
// result. live is nil if the object does not exist.
func NewDryRun(live, result *unstructured.Unstructured, opts Options) *DryRun {
	run := &DryRun{FieldManager: opts.FieldManager, Changes: []Change{}, Losses: []Loss{}}
	if live == nil {
		run.Creates = true
		return run
	}
	run.Changes = changes(live, result, maskOf(live, opts))
	run.Losses = losses(live, result, opts)
	return run
}

// losses returns the fields that managers own in live and not in result. The applies of the field manager are left
// out, because dropping fields is no loss.
func losses(live, result *unstructured.Unstructured, opts Options) []Loss {
	left := map[string]*fieldpath.Set{}
	for _, after := range managers(result, nil) {
		left[after.String()] = union(left[after.String()], after.leaves)
	}
	found := []Loss{}
	for _, before := range managers(live, nil) {
		if isApplyOf(before.Entry, opts.FieldManager) {
			continue
		}
		lost := before.leaves.Difference(union(left[before.String()], fieldpath.NewSet()))
		if !lost.Empty() {
			found = append(found, Loss{Entry: before.Entry, Paths: maskOf(live, opts).texts(lost)})
		}
	}
	return found
}

func union(a, b *fieldpath.Set) *fieldpath.Set {
	if a == nil {
		return b
	}
	return a.Union(b)
}

// Stamp adds to desired the marks that trueup adds to each apply of the field manager, as far as desired has
// none: the digest, and the owner references that the manager applied. If live has no digest, Stamp adds
// nothing, but for a migration the controller. Stamp returns the paths, masked as those of the Report on live.
func Stamp(desired, live *unstructured.Unstructured, opts Options) []string {
	key := canon.DigestPrefix + opts.FieldManager
	digest, isStored := live.GetAnnotations()[key]
	if !isStored {
		return stampController(desired, live, opts)
	}
	var kept []string
	mask := maskOf(live, opts)
	annotations := desired.GetAnnotations()
	if _, found := annotations[key]; !found {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = digest
		desired.SetAnnotations(annotations)
		kept = append(kept, mask.text(fieldpath.MakePathOrDie("metadata", "annotations", key)))
	}
	if len(desired.GetOwnerReferences()) > 0 {
		return kept
	}
	applied := managedfields.Fields(managedfields.Applied(live, opts.FieldManager))
	return append(kept, stampOwners(desired, live, mask, func(ref metav1.OwnerReference) bool {
		return managedfields.Holds(applied, ownerPath(ref))
	})...)
}

// stampController adds the controller for a migration: older versions set it, and ensure.ControlledBy applies it.
func stampController(desired, live *unstructured.Unstructured, opts Options) []string {
	if len(opts.MigrateFrom) == 0 || len(desired.GetOwnerReferences()) > 0 {
		return nil
	}
	return stampOwners(desired, live, maskOf(live, opts), func(ref metav1.OwnerReference) bool {
		return ref.Controller != nil && *ref.Controller
	})
}

func ownerPath(ref metav1.OwnerReference) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(ref.UID)))
}

// stampOwners adds the owner references of live for which isOurs holds, and returns their paths.
func stampOwners(desired, live *unstructured.Unstructured, mask mask, isOurs func(metav1.OwnerReference) bool) []string {
	var kept []string
	refs := slices.DeleteFunc(live.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return !isOurs(ref) })
	for _, ref := range refs {
		kept = append(kept, mask.text(ownerPath(ref)))
	}
	if len(refs) > 0 {
		desired.SetOwnerReferences(refs)
	}
	slices.SortFunc(kept, strings.Compare)
	return kept
}
