package ensure

import (
	"regexp"

	"github.com/trueup-go/trueup/internal/answer"
)

// Each entry of the managed fields names the API version of its fields. After a change of the versions of
// a custom kind, an entry, even one of a status, may name a version to which the API server cannot convert
// the object any more: the version is gone, or its schema lacks a field that has a default now. Then every
// apply fails, and every other write empties the managed fields. A patch of its own gives such entries the
// version that we apply: it is the only write that loses nothing.

// isUnconvertible reports whether the API server could not convert the object to the API version of an
// entry. Such an answer is a 500 without a reason; only the message shows it. An object that does not
// fit the schema of our own version is another failure.
func isUnconvertible(err error) bool {
	status, ok := answer.Status(err)
	return ok && status.Code == 500 && status.Reason == "" && unconvertible.MatchString(status.Message)
}

var unconvertible = regexp.MustCompile(
	`^(failed (to prune fields|add back \w+ items|to convert (old|new|merged|pruned) [^:()]+): )*` +
		`(request to convert CR to an invalid group/version: |(errors:\s+)?\.\w)`)
