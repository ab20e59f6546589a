package operator

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// warnings logs the API server's warnings as controller-runtime does by itself, but for
// those that are expected.
type warnings struct {
	rest.WarningHandlerWithContext
	expected func(warning string) bool
}

func warningsBut(expected func(string) bool) *warnings {
	return &warnings{log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{}), expected}
}

// HandleWarningHeaderWithContext is called with each warning.
func (w *warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	if w.expected != nil && w.expected(text) {
		return
	}
	w.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, code, agent, text)
}
