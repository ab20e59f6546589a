package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	api := []string{"v0.36.9", "v0.36.10", "v0.36.11", "v0.37.0-rc.1", "v0.37.0", "v0.38.0-alpha.0", "v0.38.0-alpha.2"}
	both := common(api, []string{"v0.36.10", "v0.37.0-rc.1", "v0.37.0", "v0.38.0-alpha.0", "v0.38.0-alpha.2", "v0.38.0-alpha.3"})

	last, err := lastPatch(both, 36)
	require.NoError(t, err)
	require.Equal(t, "v0.36.10", last, "the newest that both modules have")
	last, err = lastPatch(both, 37)
	require.NoError(t, err)
	require.Equal(t, "v0.37.0", last)
	_, err = lastPatch(both, 38)
	require.EqualError(t, err, "no release of v0.38 is published")
	require.Equal(t, []string{"v0.38.0-alpha.2", "v0.38.0-alpha.0", "v0.37.0-rc.1"}, preReleases(both))
}

func TestMinorOf(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v0.37", "v0.37.2", "v0.37.0-rc.1", "v0.37.2" + futureSuffix} {
		minor, err := minorOf(version)
		require.NoError(t, err)
		require.Equal(t, 37, minor)
	}
	for _, version := range []string{"", "v1.37.2", "v0.x", "apps"} {
		_, err := minorOf(version)
		require.Error(t, err, version)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	require.Equal(t, "before32,before34,before35,before36,before37", tags(30))
	require.Equal(t, "before37", tags(36))
	require.Empty(t, tags(37))
	require.Empty(t, tags(38))
}
