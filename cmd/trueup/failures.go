package main

import (
	"fmt"
	"io"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/trueup-go/trueup/internal/answer"
)

// masks reports whether values of the object are masked.
func (x *explainer) masks(t target) bool {
	return x.options.Masks(t.info.Mapping.GroupVersionKind.GroupKind())
}

// failure returns the error of a request about the object: that trueup cannot do something, such as "read". If the object is
// masked, the text has no words of err, which can quote the object, as a client does that cannot decode an answer.
func (x *explainer) failure(doing string, t target, err error) error {
	if !x.masks(t) {
		return fmt.Errorf("cannot %s %s: %w", doing, t, err)
	}
	return &maskedError{text: fmt.Sprintf("cannot %s %s: %s", doing, t, reasonOf(err)), err: err}
}

// reasonOf says why a request failed, in words that quote nothing.
func reasonOf(err error) string {
	switch _, answered := answer.Status(err); {
	case answer.IsGone(err):
		return "it does not exist"
	case answered:
		return answer.Reason(err, "failure") + "; " + answer.NotShown
	}
	return answer.Describe(err)
}

// A maskedError has another text than the error that it wraps.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// warnings writes the warnings of the API server. While the answers are about a masked object, it says only that there is one.
type warnings struct {
	rest.WarningHandler
	masked atomic.Bool
}

func newWarnings(out io.Writer) *warnings {
	return &warnings{WarningHandler: rest.NewWarningWriter(out, rest.WarningWriterOptions{Deduplicate: true})}
}

func (w *warnings) HandleWarningHeader(code int, agent, text string) {
	if w.masked.Load() {
		text = "a warning of the API server is not shown, as it can quote the object"
	}
	w.WarningHandler.HandleWarningHeader(code, agent, text)
}
