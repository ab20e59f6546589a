package operator

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func TestWarnings(t *testing.T) {
	isHush := func(text string) bool { return text == "hush" }
	for _, test := range []struct {
		name     string
		expected func(string) bool
		code     int
		text     string
		logged   bool
	}{
		{name: "expected", expected: isHush, code: 299, text: "hush"},
		{name: "not expected", expected: isHush, code: 299, text: "loud", logged: true},
		{name: "no warning is expected", code: 299, text: "hush", logged: true},
		{name: "not the API server's", expected: isHush, code: 199, text: "loud"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			ctx := log.IntoContext(t.Context(), zap.New(zap.WriteTo(&out)))
			newWarningHandler(test.expected).HandleWarningHeaderWithContext(ctx, test.code, "", test.text)
			require.Equal(t, test.logged, out.Len() > 0, out.String())
		})
	}
}
