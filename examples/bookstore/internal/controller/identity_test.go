package controller //nolint:testpackage // tests unexported functions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

func TestParseClaim(t *testing.T) {
	for _, test := range []struct {
		name, claim, prefix string
		ordinal             int32
	}{
		{name: "the first", claim: "mongodb-pvc-shop-mongodb-0", prefix: "mongodb-pvc-shop-mongodb"},
		{name: "many digits", claim: "mongodb-pvc-shop-mongodb-999999999", prefix: "mongodb-pvc-shop-mongodb", ordinal: 999999999},
		{name: "other names", claim: "data-db-1", prefix: "data-db", ordinal: 1},
		{name: "a set with a number", claim: "data-db-2-10", prefix: "data-db-2", ordinal: 10},
		{name: "a dash at the end of the prefix", claim: "data--1", prefix: "data-", ordinal: 1},
		{name: "too many digits", claim: "data-db-1000000000"},
		{name: "more than an int32", claim: "data-db-99999999999999999999"},
		{name: "a leading zero", claim: "data-db-01"},
		{name: "no ordinal", claim: "data-db-"},
		{name: "no digit", claim: "data-db-x"},
		{name: "a digit of another script", claim: "data-db-١"},
		{name: "no prefix", claim: "-0"},
		{name: "only an ordinal", claim: "0"},
		{name: "text after the ordinal", claim: "data-db-0-x"},
		{name: "a newline after the ordinal", claim: "data-db-0\n"},
		{name: "empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			prefix, ordinal := parseClaim(test.claim)
			require.Equal(t, test.prefix, prefix)
			require.Equal(t, test.ordinal, ordinal)
		})
	}
}

func TestCheckIdentity(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.Database)
		says   string
	}{
		{name: "no change", change: func(*v1alpha1.Database) {}},
		{
			name: "another set", says: `StatefulSet from "shop-mongodb" to "db"`,
			change: func(d *v1alpha1.Database) { d.StatefulSet = "db" },
		},
		{
			name: "another Service", says: `its Service from "shop-mongodb" to "db"`,
			change: func(d *v1alpha1.Database) { d.Service = "db" },
		},
		{
			name: "another claim template", says: `its claim template from "mongodb-pvc" to "data"`,
			change: func(d *v1alpha1.Database) { d.ClaimTemplate = "data" },
		},
		{
			name: "another label", says: "the labels of its pods and volumes",
			change: func(d *v1alpha1.Database) { d.Selector = map[string]string{"app": "db"} },
		},
		{
			name: "an additional label", says: "the labels",
			change: func(d *v1alpha1.Database) { d.Selector = map[string]string{"app": "shop-mongodb", "tier": "db"} },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			desired := shopDatabase
			test.change(&desired)
			err := checkIdentity(shopDatabase, desired)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			refused := &refusal{}
			require.ErrorAs(t, err, &refused)
			require.Equal(t, "RenameRefused", refused.reason)
			require.Contains(t, refused.message, test.says)
		})
	}
}

// With an incomplete identity, the operator could mistake pods and claims of others for its own.
func TestRecordedIdentity(t *testing.T) {
	for _, test := range []struct {
		name   string
		status *v1alpha1.Database
		ok     bool
	}{
		{name: "empty"},
		{name: "complete", status: &shopDatabase, ok: true},
		{name: "no set", status: &v1alpha1.Database{ClaimTemplate: "data", Selector: shopDatabase.Selector}},
		{name: "no claim template", status: &v1alpha1.Database{StatefulSet: "db", Selector: shopDatabase.Selector}},
		{name: "no selector", status: &v1alpha1.Database{StatefulSet: "db", ClaimTemplate: "data"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := &v1alpha1.BookStore{Status: v1alpha1.BookStoreStatus{Database: test.status}}
			_, ok := recordedIdentity(store)
			require.Equal(t, test.ok, ok)
		})
	}
}
