package scale

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesObject(t *testing.T) {
	for path, want := range map[string]bool{
		"/api":                              false,
		"/api/v1":                           false,
		"/apis":                             false,
		"/apis/apps/v1":                     false,
		"/version":                          false,
		"/api/v1/secrets":                   false,
		"/api/v1/namespaces":                false,
		"/api/v1/namespaces/n":              true,
		"/api/v1/namespaces/n/secrets":      false,
		"/api/v1/namespaces/n/secrets/s":    true,
		"/apis/apps/v1/deployments":         false,
		"/apis/apps/v1/clusterthings/t":     true,
		"/apis/g/v1/namespaces/n/t/t":       true,
		"/apis/g/v1/namespaces/n/t/t/scale": true,
	} {
		require.Equal(t, want, namesObject(path), path)
	}
}
