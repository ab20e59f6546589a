package operator

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A warningHandler logs the API server's warnings, except for expected ones.
type warningHandler struct {
	rest.WarningHandlerWithContext
	expected func(warning string) bool
}

func newWarningHandler(expected func(string) bool) *warningHandler {
	return &warningHandler{log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{}), expected}
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	if w.expected != nil && w.expected(text) {
		return
	}
	w.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, code, agent, text)
}
