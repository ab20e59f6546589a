package controller //nolint:testpackage // the names are the package's own affair

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNames(t *testing.T) {
	for _, test := range []struct {
		name, store, says string
	}{
		{name: "short", store: "a"},
		{name: "the longest that fits", store: strings.Repeat("a", 44)},
		{name: "one too long", store: strings.Repeat("a", 45), says: "has 45 characters, and its children's names leave room for 44"},
		{name: "no DNS label", store: "a.b", says: "DNS-1035"},
		{name: "a digit first", store: "1st", says: "DNS-1035"},
	} {
		t.Run(test.name, func(t *testing.T) {
			names := namesFor(test.store)
			err := names.check()
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				return
			}
			require.NoError(t, err)
			require.Empty(t, validation.IsDNS1035Label(names.database), names.database)
			require.Empty(t, validation.IsDNS1035Label(names.app), names.app)
			require.Empty(t, validation.IsValidLabelValue(names.database+"-0123456789"), "the label of a set's pods")

			store, ordinal := parseClaim(claimTemplate + "-" + names.database + "-7")
			require.Equal(t, test.store, store)
			require.Equal(t, int32(7), ordinal)
		})
	}
}

func TestParseClaim(t *testing.T) {
	for _, test := range []struct {
		name, claim, store string
		ordinal            int32
	}{
		{name: "the first", claim: "mongodb-pvc-shop-mongodb-0", store: "shop"},
		{name: "many digits", claim: "mongodb-pvc-shop-mongodb-999999999", store: "shop", ordinal: 999999999},
		{name: "a store called as its database is", claim: "mongodb-pvc-mongodb-mongodb-1", store: "mongodb", ordinal: 1},
		{name: "a store called as a claim is", claim: "mongodb-pvc-mongodb-pvc-a-mongodb-0-mongodb-2", store: "mongodb-pvc-a-mongodb-0", ordinal: 2},
		{name: "a store with a number", claim: "mongodb-pvc-shop-2-mongodb-10", store: "shop-2", ordinal: 10},
		{name: "more than an ordinal may be", claim: "mongodb-pvc-shop-mongodb-1000000000"},
		{name: "more than an int32", claim: "mongodb-pvc-shop-mongodb-99999999999999999999"},
		{name: "a leading zero", claim: "mongodb-pvc-shop-mongodb-01"},
		{name: "negative", claim: "mongodb-pvc-shop-mongodb--1"},
		{name: "no ordinal", claim: "mongodb-pvc-shop-mongodb-"},
		{name: "no digit", claim: "mongodb-pvc-shop-mongodb-x"},
		{name: "a digit of another script", claim: "mongodb-pvc-shop-mongodb-١"},
		{name: "no store", claim: "mongodb-pvc--mongodb-0"},
		{name: "no store at all", claim: "mongodb-pvc-mongodb-0"},
		{name: "another template", claim: "other-shop-mongodb-0"},
		{name: "something before", claim: "x-mongodb-pvc-shop-mongodb-0"},
		{name: "something after", claim: "mongodb-pvc-shop-mongodb-0-x"},
		{name: "another line after", claim: "mongodb-pvc-shop-mongodb-0\n"},
		{name: "nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, ordinal := parseClaim(test.claim)
			require.Equal(t, test.store, store)
			require.Equal(t, test.ordinal, ordinal)
		})
	}
}
