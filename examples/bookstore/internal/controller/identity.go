package controller

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

// A v1alpha1.Database identifies the pods and volumes of a database. The live StatefulSet decides the
// identity, since the templates may have changed. If there is no set, because the operator is just
// recreating the set, the status decides. The templates decide only if there are no pods and no volumes.

// identityOf returns the identity of the database with that StatefulSet.
func identityOf(set *appsv1.StatefulSet) v1alpha1.Database {
	identity := v1alpha1.Database{StatefulSet: set.Name, Service: set.Spec.ServiceName}
	if set.Spec.Selector != nil {
		identity.Selector = set.Spec.Selector.MatchLabels
	}
	if templates := set.Spec.VolumeClaimTemplates; len(templates) > 0 {
		identity.ClaimTemplate = templates[0].Name
	}
	return identity
}

// recordedIdentity returns the identity in the status, if it is complete.
func recordedIdentity(store *v1alpha1.BookStore) (identity v1alpha1.Database, ok bool) {
	identity = ptr.Deref(store.Status.Database, identity)
	return identity, identity.StatefulSet != "" && identity.ClaimTemplate != "" && len(identity.Selector) > 0
}

// claimPrefix returns the name of a claim without the ordinal.
func claimPrefix(identity v1alpha1.Database) string {
	return identity.ClaimTemplate + "-" + identity.StatefulSet
}

var claimName = regexp.MustCompile(`^(.+)-(0|[1-9]\d{0,8})$`)

// parseClaim returns the prefix and the ordinal in the name of a claim of a StatefulSet. The prefix
// is empty for other names.
func parseClaim(name string) (prefix string, ordinal int32) {
	parts := claimName.FindStringSubmatch(name)
	if parts == nil {
		return "", 0
	}
	number, _ := strconv.ParseInt(parts[2], 10, 32) // the expression allows no other text
	return parts[1], int32(number)
}

// checkIdentity refuses to change the identity of the database. With another StatefulSet, claim template or
// selector, the database would lose its volumes, and with `retain: false` they would be deleted. With
// another Service, clients would not find the pods.
func checkIdentity(current, desired v1alpha1.Database) error {
	var renamed []string
	for _, part := range []struct{ what, from, to string }{
		{"StatefulSet", current.StatefulSet, desired.StatefulSet},
		{"its Service", current.Service, desired.Service},
		{"its claim template", current.ClaimTemplate, desired.ClaimTemplate},
	} {
		if part.from != part.to {
			renamed = append(renamed, fmt.Sprintf("%s from %q to %q", part.what, part.from, part.to))
		}
	}
	if !maps.Equal(current.Selector, desired.Selector) {
		renamed = append(renamed, "the labels of its pods and volumes")
	}
	if len(renamed) == 0 {
		return nil
	}
	return refuse(reasonRenameRefused, "the templates rename %s: this would create another database, with empty volumes. "+
		"No child is written until the templates use the current names again", strings.Join(renamed, ", "))
}
