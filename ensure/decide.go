package ensure

// A step is what a pass does next.
type step int

const (
	toRest           step = iota // The child is as desired.
	toFindProvenance             // Find out whose the live object is.
	toCompare                    // Find out whether the live object is as desired.
	toProve                      // Read the managed fields, which tell whose the live object is.
	toCreate                     // Create the child.
	toWrite                      // Bring the live object to the desired state.
	toSkip                       // The child does not exist and is not to be created.
	toLeaveUnchanged             // Leave the live object, whatever it contains.
	toLeaveForeign               // The live object is somebody else's.
	toAwaitCache                 // The cache does not show our last write yet.
	toAwaitDeletion              // The live object is being deleted.
	toReportHidden               // The child is as desired, but the cache never shows it.
)

// A situation is what a pass knows when it decides what to do next.
type situation struct {
	exists        bool // There is a live object.
	isTerminating bool // The live object is being deleted.
	ifExists      bool // The option is given.
	ifMissing     bool // The option is given.

	knowsProvenance bool // It is known whose the live object is.
	isOurs          bool // The live object is ours.
	mayWrite        bool // The live object is ours, or may be adopted.
	isProven        bool // The managed fields show whose it is, or our last write does, and not only a digest, which may be a copy.
	isHidden        bool // The cache has not shown a child of ours for long.
	isStale         bool // The live object is a copy from before our last write.

	isCompared bool // It is known whether the live object is as desired.
	isInSync   bool // The live object is as desired, and no fields have to change their owner.
}

// decide returns the next step of a pass. It sends nothing. Finding the provenance may take a request, so it comes when all
// that costs nothing is settled.
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
	case !known.mayWrite:
		return toLeaveForeign
	case known.isStale:
		return toAwaitCache
	case !known.isCompared:
		return toCompare
	case !known.isInSync && !known.isProven:
		return toProve
	case !known.isInSync:
		return toWrite
	case known.isHidden:
		return toReportHidden
	}
	return toRest
}
