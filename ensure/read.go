package ensure

import (
	"time"
)

const (
	// readWait limits a read that waits for our own write to reach the cache
	// (EnableReadYourWritesConsistency). A cache whose selector leaves the object out never shows
	// the write.
	readWait = 5 * time.Second
	// hiddenAfter is the lag after which a cache counts as hiding a child.
	hiddenAfter = 2 * time.Minute
)
