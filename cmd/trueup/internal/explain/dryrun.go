package explain

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/trueup-go/trueup/internal/answer"
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
	run.Losses = losses(live, result, opts.FieldManager)
	return run
}

// NewRefusal returns the refusal of an apply of obj, and false if err is no answer of an API server. The
// message of a refused Secret is not shown, as it can quote the content.
func NewRefusal(err error, obj *unstructured.Unstructured, opts Options) (*DryRun, bool) {
	if _, answered := answer.Status(err); !answered {
		return nil, false
	}
	kind := obj.GroupVersionKind().GroupKind()
	if opts.Mask {
		kind.Kind = "" // as an unknown kind
	}
	refusal := &Refusal{Message: answer.Explain(err, kind, obj.GetName()), Paths: []string{}}
	refusal.Paths = append(refusal.Paths, answer.Fields(err)...)
	slices.Sort(refusal.Paths)
	return &DryRun{FieldManager: opts.FieldManager, Changes: []Change{}, Losses: []Loss{}, Refused: refusal}, true
}

// losses returns the fields that managers own in live and not in result. The applies of manager are left
// out, because dropping fields is no loss.
func losses(live, result *unstructured.Unstructured, manager string) []Loss {
	left := map[string]*fieldpath.Set{}
	for _, after := range managers(result, nil) {
		left[after.String()] = union(left[after.String()], after.leaves)
	}
	found := []Loss{}
	for _, before := range managers(live, nil) {
		if isApplyOf(before.Entry, manager) {
			continue
		}
		lost := before.leaves.Difference(union(left[before.String()], fieldpath.NewSet()))
		if !lost.Empty() {
			found = append(found, Loss{Entry: before.Entry, Paths: texts(lost)})
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

func texts(fields *fieldpath.Set) []string {
	var paths []string
	for path := range fields.All() {
		paths = append(paths, managedfields.Text(path))
	}
	slices.Sort(paths)
	return paths
}

// Stamp adds to desired the marks that trueup adds to each apply of the field manager, as far as desired has
// none: the digest, and the owner references that the manager applied. If live has no digest, Stamp adds
// nothing, but for a migration the controller. Stamp returns the paths.
func Stamp(desired, live *unstructured.Unstructured, opts Options) []string {
	key := canon.DigestPrefix + opts.FieldManager
	digest, isStored := live.GetAnnotations()[key]
	if !isStored {
		return stampController(desired, live, opts)
	}
	var kept []string
	annotations := desired.GetAnnotations()
	if _, found := annotations[key]; !found {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = digest
		desired.SetAnnotations(annotations)
		kept = append(kept, managedfields.Text(fieldpath.MakePathOrDie("metadata", "annotations", key)))
	}
	if len(desired.GetOwnerReferences()) > 0 {
		return kept
	}
	applied := managedfields.Fields(managedfields.Applied(live, opts.FieldManager))
	return append(kept, stampOwners(desired, live, func(ref metav1.OwnerReference) bool {
		return managedfields.Holds(applied, ownerPath(ref))
	})...)
}

// stampController adds the controller for a migration: older versions set it, and ensure.ControlledBy applies it.
func stampController(desired, live *unstructured.Unstructured, opts Options) []string {
	if len(opts.MigrateFrom) == 0 || len(desired.GetOwnerReferences()) > 0 {
		return nil
	}
	return stampOwners(desired, live, func(ref metav1.OwnerReference) bool { return ref.Controller != nil && *ref.Controller })
}

func ownerPath(ref metav1.OwnerReference) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(ref.UID)))
}

// stampOwners adds the owner references of live for which isOurs holds, and returns their paths.
func stampOwners(desired, live *unstructured.Unstructured, isOurs func(metav1.OwnerReference) bool) []string {
	var kept []string
	refs := slices.DeleteFunc(live.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return !isOurs(ref) })
	for _, ref := range refs {
		kept = append(kept, managedfields.Text(ownerPath(ref)))
	}
	if len(refs) > 0 {
		desired.SetOwnerReferences(refs)
	}
	slices.SortFunc(kept, strings.Compare)
	return kept
}
