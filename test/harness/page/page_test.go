package page_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/page"
)

func TestSettle(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	written, err := page.Read("conformance")
	require.NoError(t, err)
	require.Contains(t, written, "# Conformance")
	require.NoError(t, page.CompareOrUpdate(t.Context(), "conformance", written))

	err = page.CompareOrUpdate(t.Context(), "conformance", "# Nothing\n")
	require.ErrorContains(t, err, "docs/conformance.md is stale: run make conformance")
	missing, err := page.Read("no-such-page")
	require.NoError(t, err)
	require.Empty(t, missing)
}

// TestAnotherVersion: the results of another server version are neither compared nor written.
func TestAnotherVersion(t *testing.T) {
	assets := t.TempDir()
	script := []byte("#!/bin/sh\necho Kubernetes v1.2.3\n")
	require.NoError(t, os.WriteFile(filepath.Join(assets, "kube-apiserver"), script, 0o755))
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	require.NoError(t, page.CompareOrUpdate(t.Context(), "conformance", "# Nothing\n"))

	require.NoError(t, flag.Set("update", "true"))
	t.Cleanup(func() { require.NoError(t, flag.Set("update", "false")) })
	require.ErrorIs(t, page.CompareOrUpdate(t.Context(), "no-such-page", "# Nothing\n"), cluster.ErrOtherVersion)
	missing, err := page.Read("no-such-page")
	require.NoError(t, err)
	require.Empty(t, missing, "it was written")
}
