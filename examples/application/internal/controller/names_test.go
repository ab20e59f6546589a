package controller //nolint:testpackage // the names are the package's own affair

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNames(t *testing.T) {
	for _, test := range []struct {
		name, application, says string
	}{
		{name: "short", application: "a"},
		{name: "the longest that fits", application: strings.Repeat("a", 39)},
		{name: "one too long", application: strings.Repeat("a", 40), says: "has 40 characters, and its children's names leave room for 39"},
		{name: "no DNS label", application: "a.b", says: "DNS-1035"},
		{name: "no name for a Service", application: "1a", says: "DNS-1035"},
	} {
		t.Run(test.name, func(t *testing.T) {
			names := namesFor(test.application)
			err := names.check(test.application)
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				return
			}
			require.NoError(t, err)
			for _, name := range []string{names.secret, names.deployment, names.service, names.microservice} {
				require.Empty(t, validation.IsDNS1035Label(name), name)
			}
		})
	}
}
