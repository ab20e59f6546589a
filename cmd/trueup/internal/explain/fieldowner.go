package explain

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/internal/canon"
	"github.com/trueup-go/trueup/internal/managedfields"
)

// adoptedMark is the prefix of the digests that package ensure stores on adopted objects.
const adoptedMark = "adopt-"

// fieldOwners returns the field owners whose digests the annotations of live have, sorted by name, and
// named, if it applied live.
func fieldOwners(live metav1.Object, named string) []FieldOwner {
	found := []FieldOwner{}
	for key, digest := range live.GetAnnotations() {
		if name, isDigest := strings.CutPrefix(key, canon.DigestPrefix); isDigest {
			found = append(found, fieldOwner(live, name, digest))
		}
	}
	isKnown := slices.ContainsFunc(found, func(owner FieldOwner) bool { return owner.Name == named })
	if !isKnown && named != "" && managedfields.Applied(live, named) != nil {
		found = append(found, fieldOwner(live, named, ""))
	}
	slices.SortFunc(found, func(a, b FieldOwner) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func fieldOwner(live metav1.Object, name, stored string) FieldOwner {
	digest, adopted := strings.CutPrefix(stored, adoptedMark)
	owner := FieldOwner{Name: name, Digest: digest, Adopted: adopted, Newer: []Entry{}}
	if applied := managedfields.Applied(live, name); applied != nil {
		owner.LastApply, owner.Fields = timeOf(applied.Time), leaves(applied).Size()
		owner.Newer = newer(live, name, applied)
	}
	return owner
}

// newer returns the entries of other managers, except for the status, that are not older than applied.
func newer(live metav1.Object, name string, applied *metav1.ManagedFieldsEntry) []Entry {
	found := []Entry{}
	for _, entry := range managedfields.Others(live, name) {
		if entry.Time == nil || applied.Time == nil || !entry.Time.Before(applied.Time) {
			found = append(found, entryOf(&entry))
		}
	}
	return found
}
