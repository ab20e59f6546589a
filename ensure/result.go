package ensure

import "sigs.k8s.io/controller-runtime/pkg/client"

// A Result is what Object found or did.
type Result[T client.Object] struct {
	// Live is the object on the API server, in the caller's type, with defaults and
	// status filled in: the cached copy if nothing was sent, else the server's
	// answer. It is the caller's own, unless the cache hands out shared copies.
	Live T
	// Operation is what the API server did.
	Operation Operation
	// Cause is why it was written; empty when it was not.
	Cause Cause
	// Changes are the paths that an update changed, in the object's order. Empty
	// for a creation.
	Changes []Change
	// Stale says that Live is a cached copy older than our own last write. Nothing
	// was sent, as nothing is known to be wrong, but the status in Live tells of an
	// earlier state: take it as in progress.
	Stale bool
}

// An Operation completes the sentence "the child was …".
type Operation string

// The operations. Unchanged does not always mean that no request was made: the
// server may have been asked and have found nothing to do.
const (
	Unchanged Operation = "Unchanged"
	Created   Operation = "Created"
	Updated   Operation = "Updated"
	// Recreated means that it was deleted and made again, as only Recreate allows.
	Recreated Operation = "Recreated"
	// Deleting and Gone are Absent's and those of pruning. Deleting without a Cause says that
	// somebody else, or an earlier call, sent the delete. Gone is also what IfExists says
	// of a child that there is not.
	Deleting Operation = "Deleting"
	Gone     Operation = "Gone"
	// Released is Absent's and that of pruning, too: the object stays, as it is not ours, and
	// nothing of ours is left in it. With a Cause this call gave up what was.
	Released Operation = "Released"
)

// A Cause says why a child was written.
type Cause string

const (
	// Missing means that the child did not exist.
	Missing Cause = "Missing"
	// DesiredChanged means that the desired state is another than the one whose
	// digest the child carried.
	DesiredChanged Cause = "DesiredChanged"
	// Drifted means that somebody changed what we specify.
	Drifted Cause = "Drifted"
	// Adopted means that the child was not ours and Adopt was given.
	Adopted Cause = "Adopted"
	// Migrated means that it was written by a manager named with MigrateFrom before.
	Migrated Cause = "Migrated"
	// Unwanted means that it was to be Absent, or pruned, and that this call sent the delete,
	// or gave up our fields.
	Unwanted Cause = "Unwanted"
)

// A Change is one path that a write changed, such as spec.replicas,
// spec.template.spec.containers[name=app].image or metadata.labels[app].
type Change struct {
	Path string
	// Old and New are the values of numbers and booleans, and empty for everything else and for
	// kinds named by WithSensitive, so that logging a Change can leak no secret.
	Old, New string
	// Manager is set for what somebody else owned and was removed, as the API server refuses
	// it beside desired, or for MigrateFrom: the field manager that owned it, several separated
	// by commas. If a migration was interrupted, all that MigrateFrom names.
	Manager string
}

// String is the path, followed by old and new values where they are shown, and by the manager.
func (c Change) String() string {
	text := c.Path
	if c.Old != "" || c.New != "" {
		text += " " + orNone(c.Old) + " -> " + orNone(c.New)
	}
	if c.Manager != "" {
		text += " (set by " + c.Manager + ")"
	}
	return text
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
