package controller_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/examples/reversewordsapp/internal/controller"
)

// Warnings about other finalizers and other fields are not expected.
func TestIsExpected(t *testing.T) {
	const hint = ": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"
	require.True(t, controller.IsExpected(`metadata.finalizers: "finalizer.reversewordsapp.apps.linuxera.org"`+hint))
	require.False(t, controller.IsExpected(`metadata.finalizers: "other.linuxera.org"`+hint))
	require.False(t, controller.IsExpected(`unknown field "spec.finalizer.reversewordsapp.apps.linuxera.org"`))
}
