package controller //nolint:testpackage // who is who is the package's own affair

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
)

func TestParseClaim(t *testing.T) {
	for _, test := range []struct {
		name, claim, beginning string
		ordinal                int32
	}{
		{name: "the first", claim: "mongodb-pvc-shop-mongodb-0", beginning: "mongodb-pvc-shop-mongodb"},
		{name: "many digits", claim: "mongodb-pvc-shop-mongodb-999999999", beginning: "mongodb-pvc-shop-mongodb", ordinal: 999999999},
		{name: "other names", claim: "data-db-1", beginning: "data-db", ordinal: 1},
		{name: "a set with a number", claim: "data-db-2-10", beginning: "data-db-2", ordinal: 10},
		{name: "a dash at the end of its beginning", claim: "data--1", beginning: "data-", ordinal: 1},
		{name: "more than an ordinal may be", claim: "data-db-1000000000"},
		{name: "more than an int32", claim: "data-db-99999999999999999999"},
		{name: "a leading zero", claim: "data-db-01"},
		{name: "no ordinal", claim: "data-db-"},
		{name: "no digit", claim: "data-db-x"},
		{name: "a digit of another script", claim: "data-db-١"},
		{name: "no beginning", claim: "-0"},
		{name: "an ordinal alone", claim: "0"},
		{name: "something after", claim: "data-db-0-x"},
		{name: "another line after", claim: "data-db-0\n"},
		{name: "nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			beginning, ordinal := parseClaim(test.claim)
			require.Equal(t, test.beginning, beginning)
			require.Equal(t, test.ordinal, ordinal)
		})
	}
}

func TestMayBecome(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.Database)
		says   string
	}{
		{name: "what it is", change: func(*v1alpha1.Database) {}},
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
			name: "another label", says: "the labels that its pods and volumes are known by",
			change: func(d *v1alpha1.Database) { d.Selector = map[string]string{"app": "db"} },
		},
		{
			name: "a label more", says: "the labels",
			change: func(d *v1alpha1.Database) { d.Selector = map[string]string{"app": "shop-mongodb", "tier": "db"} },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			wanted := shopDatabase
			test.change(&wanted)
			refused := (&database{identity: shopDatabase}).mayBecome(wanted)
			if test.says == "" {
				require.Nil(t, refused)
				return
			}
			require.Equal(t, "RenameRefused", refused.reason)
			require.Contains(t, refused.message, test.says)
		})
	}
}

// A status that does not say all would have the operator take others' for its own.
func TestRecorded(t *testing.T) {
	for _, test := range []struct {
		name   string
		status *v1alpha1.Database
		ok     bool
	}{
		{name: "nothing"},
		{name: "all", status: &shopDatabase, ok: true},
		{name: "no set", status: &v1alpha1.Database{ClaimTemplate: "data", Selector: shopDatabase.Selector}},
		{name: "no claim template", status: &v1alpha1.Database{StatefulSet: "db", Selector: shopDatabase.Selector}},
		{name: "no selector", status: &v1alpha1.Database{StatefulSet: "db", ClaimTemplate: "data"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := &v1alpha1.BookStore{Status: v1alpha1.BookStoreStatus{Database: test.status}}
			_, ok := recorded(store)
			require.Equal(t, test.ok, ok)
		})
	}
}
