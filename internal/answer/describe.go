package answer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Describe says why there is no answer, and nothing if there is one. It repeats an
// error's text only where that is known to quote no object.
func Describe(err error) string {
	text := unanswered(err)
	if _, answered := Status(err); text != "" || answered {
		return text
	}
	return fmt.Sprintf("an error of type %T, whose text is not shown, as it can quote the object", err)
}

// unanswered is the text of errors that are known to quote no object; empty for others.
func unanswered(err error) string {
	var (
		netErr net.Error
		urlErr *url.Error
	)
	switch {
	case meta.IsNoMatchError(err), runtime.IsNotRegisteredError(err):
		return err.Error()
	case runtime.IsMissingKind(err), runtime.IsMissingVersion(err):
		return "apiVersion or kind is not set"
	case errors.As(err, &urlErr):
		return withoutVaryingParts(urlErr.Err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "it was cancelled, or took too long" // before the next case, as a deadline is a net.Error, too
	case errors.As(err, &netErr):
		return withoutVaryingParts(netErr.Error())
	}
	return ""
}
