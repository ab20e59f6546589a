package controller //nolint:testpackage // the names are the package's own affair

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNames(t *testing.T) {
	for _, test := range []struct {
		name, app, says string
	}{
		{name: "short", app: "a"},
		{name: "a digit first, as the Service's name begins otherwise", app: "1st"},
		{name: "the longest that fits", app: strings.Repeat("a", 55)},
		{name: "one too long", app: strings.Repeat("a", 56), says: "has 56 characters, and its children's names leave room for 55"},
		{name: "no DNS label", app: "a.b", says: "DNS-1035"},
	} {
		t.Run(test.name, func(t *testing.T) {
			names := namesFor(test.app)
			err := names.check()
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				return
			}
			require.NoError(t, err)
			require.Empty(t, validation.IsDNS1035Label(names.service), names.service)
			require.Empty(t, validation.IsDNS1123Label(names.deployment), names.deployment)
			require.Empty(t, validation.IsValidLabelValue(names.app), names.app)
		})
	}
}
