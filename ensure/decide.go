package ensure

// A step is what a pass does next.
type step int

const (
	toRest           step = iota // the child is as desired
	toFindProvenance             // find out whose the live object is
	toCompare                    // find out whether the live object is as desired
	toCreate                     // the child
	toWrite                      // desired to the live object
	toSkip                       // a child that does not exist and is not to be created
	toLeaveUnchanged             // the live object, whatever it contains
	toLeaveForeign               // an object of somebody else
	toAwaitCache                 // which does not show our last write yet
	toAwaitDeletion              // of the live object
	toReportHidden               // a child as desired that the cache never shows
)

// A situation is what a pass knows when it decides what to do next.
type situation struct {
	exists        bool // the live object
	isTerminating bool // the live object
	ifExists      bool // the option
	ifMissing     bool // the option

	knowsProvenance bool // whose the live object is, is known
	isOurs          bool // to write, or to adopt
	isHidden        bool // the cache has not shown a child of ours for long
	isStale         bool // the live object is a copy from before our last write

	isCompared bool // whether the live object is as desired, is known
	isInSync   bool // the live object is as desired, and no fields have to change their owner
}

// decide returns the next step of a pass. It sends nothing: claiming and comparing may take a request,
// so they come only when all that costs nothing is settled.
func decide(known situation) step {
	switch {
	case !known.exists && known.ifExists:
		return toSkip
	case !known.exists:
		return toCreate
	case known.isTerminating:
		return toAwaitDeletion
	case known.ifMissing:
		return toLeaveUnchanged
	case !known.knowsProvenance:
		return toFindProvenance
	case !known.isOurs:
		return toLeaveForeign
	case known.isStale:
		return toAwaitCache
	case !known.isCompared:
		return toCompare
	case !known.isInSync:
		return toWrite
	case known.isHidden:
		return toReportHidden
	}
	return toRest
}
