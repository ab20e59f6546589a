package ensure

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/status/readiness"
)

// A Result is the outcome of Object or Absent.
type Result[T client.Object] struct {
	// Live is the live object in the caller's type, with defaults and status: the cached copy if no
	// request was sent, and otherwise the API server's response. The caller may change it, unless the
	// cache returns shared copies.
	Live T
	// Operation is the change that the API server made to the object.
	Operation Operation
	// Cause is the reason for the write; empty if there was no write.
	Cause Cause
	// Changes are the paths that an update changed, in the order of the object; empty for a creation.
	Changes []Change
	// Kept are the fields that desired dropped, and that the object still has, if Cause is DesiredChanged; empty if the cache
	// strips managed fields, as then nothing shows what was dropped. A list that desired has empty, and that the API server fills
	// by default, is among them. If Cause is Migrated, Kept are the fields that managers named by MigrateFrom set, that desired
	// lacks, and that do not have their default; see Retire.
	Kept []KeptField
	// Stale means that Live is a cached copy that is older than our last write. The call sent nothing. The
	// status in Live describes an earlier state, so treat the child as in progress.
	Stale bool
}

// Readiness returns the readiness of the child, for a condition. r and err are the results of Object,
// or of Set and ResultOf:
//
//	deployment, err := ensure.Object(ctx, e, deploymentFor(site), ensure.ControlledBy(site))
//	set.Child(conditions, "Deployed", deployment.Readiness(err))
//
// The readiness is
//
//   - InProgress, with the Reason and the text of err, if the child was not ensured: a later call may
//     succeed. For Set, err may be about another child.
//   - InProgress if r is Stale, because the status in Live describes an earlier state;
//   - otherwise the result of readiness.Of for Live.
func (r Result[T]) Readiness(err error) readiness.Readiness {
	if unknown, ok := r.unknown(err); ok {
		return unknown
	}
	return readiness.Of(r.Live)
}

// Explain is Readiness, with the result of readiness.Explain instead of readiness.Of: the reason comes
// from the pods of the child and, for a StatefulSet, from its events. reader is the manager's client; the
// operator needs the permissions that readiness.Explain names. If explainErr is not nil, the Readiness is
// valid, but may have a less telling reason.
func (r Result[T]) Explain(ctx context.Context, reader client.Reader, err error) (child readiness.Readiness, explainErr error) {
	if unknown, ok := r.unknown(err); ok {
		return unknown, nil
	}
	return readiness.Explain(ctx, reader, r.Live)
}

// unknown returns the readiness of a child whose present status is not known, and false for another child.
func (r Result[T]) unknown(err error) (readiness.Readiness, bool) {
	switch {
	case r.Operation == "" && err != nil:
		return readiness.Readiness{State: readiness.InProgress, Reason: Reason(err), Message: err.Error()}, true
	case r.Stale:
		return readiness.Readiness{
			State: readiness.InProgress, Reason: string(readiness.InProgress), Message: "the cache does not show the last write yet",
		}, true
	}
	return readiness.Readiness{}, false
}

// hasStale lets Retry take a Result.
func (r Result[T]) hasStale() bool { return r.Stale }

// An Operation is the outcome for the child: it was created, updated, and so on.
type Operation string

// The operations. Unchanged may have taken a request: the API server then confirmed that no change was
// needed.
const (
	Unchanged Operation = "Unchanged"
	Created   Operation = "Created"
	Updated   Operation = "Updated"
	// Recreated means that the child was deleted and created again, which only Recreate allows.
	Recreated Operation = "Recreated"
	// Deleting and Gone are results of Absent and of pruning. Deleting without a Cause means that
	// somebody else, or an earlier call, sent the delete. With IfExists, Gone means that the object
	// does not exist.
	Deleting Operation = "Deleting"
	Gone     Operation = "Gone"
	// Released is a result of Absent and of pruning, too: the object stays, because we did not create it,
	// and has none of our fields. With a Cause, this call gave up our fields.
	Released Operation = "Released"
)

// A Cause is the reason for a write of a child.
type Cause string

const (
	// Missing means that the child did not exist.
	Missing Cause = "Missing"
	// DesiredChanged means that desired has another digest than the child, or was never applied to it.
	DesiredChanged Cause = "DesiredChanged"
	// Drifted means that somebody changed a field that desired specifies.
	Drifted Cause = "Drifted"
	// Adopted means that the child was not ours and Adopt was given.
	Adopted Cause = "Adopted"
	// Migrated means that fields of a manager named by MigrateFrom, or of a former field owner, became ours.
	Migrated Cause = "Migrated"
	// Unwanted means that Absent or pruning sent the delete, or gave up our fields, in this call.
	Unwanted Cause = "Unwanted"
)

// A Change is a path that a write changed, such as spec.replicas,
// spec.template.spec.containers[name=app].image or metadata.labels[app]. An item of a list is named by its merge keys if the
// Go type or our managed fields tell them, and else by its index.
type Change struct {
	Path string
	// Old and New are the values of numbers and booleans. They are empty for all other types, and
	// for kinds named by WithSensitive, so that a logged Change shows no secret.
	Old, New string
	// Manager names the other field managers that owned a removed path, separated by commas. It is set
	// only if the path was removed because of Retire or because the path conflicted with desired.
	Manager string
}

// String returns the path, the old and new values if they are shown, and the manager.
func (c Change) String() string { return layer.Change(c).String() }

// A KeptField is a field that the live object has although desired dropped it, such as spec.clusterIP, or that an earlier
// version of the operator set and desired lacks.
type KeptField struct {
	Path string
	// Manager is another field manager that owns the field; empty if nobody does: the API server keeps the value, as
	// it does a cluster IP or a node port, or the value is the default.
	Manager string
}

// String returns the path and the manager.
func (k KeptField) String() string { return layer.KeptField(k).String() }

// resultOf returns the Result of an outcome without the paths of subject that are not shown. T is the Go type of the child, as
// kinds.Kind.Empty makes objects of that type.
func resultOf[T client.Object](found layer.Outcome, subject *fault.Subject) Result[T] {
	live, _ := found.Live.(T)
	result := Result[T]{Live: live, Operation: Operation(found.Operation), Cause: Cause(found.Cause), Stale: found.Stale}
	for _, change := range found.Changes {
		change.Path = subject.Shown(change.Path)
		result.Changes = append(result.Changes, Change(change))
	}
	for _, field := range found.Kept {
		field.Path = subject.Shown(field.Path)
		result.Kept = append(result.Kept, KeptField(field))
	}
	return result
}
