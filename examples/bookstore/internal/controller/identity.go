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

// reasonRenameRefused is of a condition and an event: the templates would have a database
// that is there be another.
const reasonRenameRefused = "RenameRefused"

// The identity of a database tells the pods and volumes of the database from others. The existing StatefulSet decides the
// identity, as a template may have changed meanwhile. Without a set, such as while it is being recreated, the
// last status decides. The templates decide the identity only of a database without pods and volumes.

// identityOf returns the identity by the set.
func identityOf(set *appsv1.StatefulSet) v1alpha1.Database {
	is := v1alpha1.Database{StatefulSet: set.Name, Service: set.Spec.ServiceName}
	if set.Spec.Selector != nil {
		is.Selector = set.Spec.Selector.MatchLabels
	}
	if templates := set.Spec.VolumeClaimTemplates; len(templates) > 0 {
		is.ClaimTemplate = templates[0].Name
	}
	return is
}

// recorded returns the identity in the status, if it is complete.
func recorded(store *v1alpha1.BookStore) (is v1alpha1.Database, ok bool) {
	is = ptr.Deref(store.Status.Database, is)
	return is, is.StatefulSet != "" && is.ClaimTemplate != "" && len(is.Selector) > 0
}

// claims returns the prefix of the names of the claims of a database; an ordinal follows.
func claims(of v1alpha1.Database) string { return of.ClaimTemplate + "-" + of.StatefulSet }

var claimName = regexp.MustCompile(`^(.+)-(0|[1-9]\d{0,8})$`)

// parseClaim returns the prefix and the ordinal in the name of a claim of a StatefulSet. The prefix
// is empty for other names.
func parseClaim(name string) (beginning string, ordinal int32) {
	parts := claimName.FindStringSubmatch(name)
	if parts == nil {
		return "", 0
	}
	number, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return "", 0
	}
	return parts[1], int32(number)
}

// mayBecome refuses another identity of the database: with another name, claim template or
// selector, its pods and volumes would be left behind, and with `retain: false` be deleted; with
// another Service, its pods would not be found.
func (db *database) mayBecome(wanted v1alpha1.Database) *refusal {
	is := db.identity
	var renamed []string
	for _, part := range []struct{ what, from, to string }{
		{"StatefulSet", is.StatefulSet, wanted.StatefulSet},
		{"its Service", is.Service, wanted.Service},
		{"its claim template", is.ClaimTemplate, wanted.ClaimTemplate},
	} {
		if part.from != part.to {
			renamed = append(renamed, fmt.Sprintf("%s from %q to %q", part.what, part.from, part.to))
		}
	}
	if !maps.Equal(is.Selector, wanted.Selector) {
		renamed = append(renamed, "the labels that its pods and volumes are known by")
	}
	if len(renamed) == 0 {
		return nil
	}
	return &refusal{reasonRenameRefused, fmt.Sprintf("the templates rename %s: the database would be another, with empty volumes. "+
		"Nothing is written until they call it as it is called", strings.Join(renamed, ", "))}
}
