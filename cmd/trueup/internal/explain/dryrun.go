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

// Stamp adds to desired the marks that trueup adds to each apply of manager, as far as desired has none:
// the digest, and the owner references that manager applied. Stamp returns the paths, and changes nothing
// if live has no digest of manager.
func Stamp(desired, live *unstructured.Unstructured, manager string) []string {
	key := canon.DigestPrefix + manager
	digest, isStored := live.GetAnnotations()[key]
	if !isStored {
		return nil
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
	return append(kept, stampOwners(desired, live, manager)...)
}

func stampOwners(desired, live *unstructured.Unstructured, manager string) []string {
	applied := managedfields.Fields(managedfields.Applied(live, manager))
	var kept []string
	refs := live.GetOwnerReferences()
	refs = slices.DeleteFunc(refs, func(ref metav1.OwnerReference) bool {
		path := fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(ref.UID)))
		isOurs := managedfields.Holds(applied, path)
		if isOurs {
			kept = append(kept, managedfields.Text(path))
		}
		return !isOurs
	})
	if len(refs) > 0 {
		desired.SetOwnerReferences(refs)
	}
	slices.SortFunc(kept, strings.Compare)
	return kept
}
