package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func TestWarnings(t *testing.T) {
	const hint = `: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`
	for _, test := range []struct {
		name, text string
		code       int
		isLogged   bool
	}{
		{name: "the operator's finalizer", code: 299, text: `metadata.finalizers: "finalizer.reversewordsapp.apps.linuxera.org"` + hint},
		{name: "another finalizer", code: 299, text: `metadata.finalizers: "other.linuxera.org"` + hint, isLogged: true},
		{name: "another field", code: 299, text: `unknown field "spec.finalizer.reversewordsapp.apps.linuxera.org"`, isLogged: true},
		{name: "another code", code: 199, text: `unknown field "spec.other"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			ctx := log.IntoContext(t.Context(), zap.New(zap.WriteTo(&out)))
			handler := warnings{log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{})}
			handler.HandleWarningHeaderWithContext(ctx, test.code, "", test.text)
			require.Equal(t, test.isLogged, out.Len() > 0, out.String())
		})
	}
}
