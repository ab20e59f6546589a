package ensure

import (
	"github.com/trueup-go/trueup/ensure/internal/memory"
)

// An observation is what a pass knows about the live object: the copy that was read, the last answer of
// the API server, and whose the object is.
type observation struct {
	ownership

	last   memory.Record // the last answer of the API server that was known when live was read
	unseen bool          // the cache did not show the object
	ours   bool          // live may be written without ensure.Adopt
}
