package controller

import (
	"regexp"
	"strconv"

	"github.com/trueup-go/trueup/examples/internal/operator"
)

const (
	databaseSuffix = "-mongodb"
	// claimTemplate is the name of the StatefulSet's claim template; the names of its claims
	// begin with it.
	claimTemplate = "mongodb-pvc"
)

// names are what the children of one BookStore are called. They begin with the
// BookStore's name, so that two in a namespace never collide.
type names struct {
	store    string
	database string // the StatefulSet, its headless Service, and the label app of its pods
	app      string // the Deployment, its Service, and the label app of its pods
}

func namesFor(store string) names {
	return names{store: store, database: store + databaseSuffix, app: store + "-app"}
}

// firstDatabase is the host name of the first pod of the database.
func (n names) firstDatabase() string { return n.database + "-0." + n.database }

// check refuses a BookStore whose children could not be named after it. The pods of a
// StatefulSet are labelled with its name and ten characters more.
func (n names) check() error {
	return operator.CheckNames(n.store, n.database+"-0123456789", n.app)
}

// claimName is what the claims of databases are called: the template, the StatefulSet and
// an ordinal.
var claimName = regexp.MustCompile(`^` + claimTemplate + `-(.+)` + databaseSuffix + `-(0|[1-9]\d{0,8})$`)

// parseClaim tells which BookStore the claim of that name would belong to, and which pod
// of its database. The store is empty if none.
func parseClaim(name string) (store string, ordinal int32) {
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
