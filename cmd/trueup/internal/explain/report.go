// Package explain reports who owns which fields of an object, from the managed fields of the object, and
// the effect of a dry run of an apply. The package sends no requests.
package explain

import (
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A Report names the owners of the fields of one object. The README of the command documents the JSON
// form.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Exists is false only for an object that a dry run would create.
	Exists     bool       `json:"exists"`
	Created    *time.Time `json:"created,omitempty"`
	Deleting   *time.Time `json:"deleting,omitempty"` // the time of the request to delete the object
	Finalizers []string   `json:"finalizers,omitempty"`
	Owners     []Owner    `json:"owners"`
	// FieldOwners are the field owners with a digest, which use trueup, and the one that Options name.
	FieldOwners []FieldOwner `json:"fieldOwners"`
	// Managers are the entries of the managed fields: first those that trueup applied, then the newest.
	Managers []Manager `json:"managers"`
	Shared   []Shared  `json:"shared"`
	// Unowned are fields that no manager owns. They are listed on request only.
	Unowned []Field `json:"unowned,omitempty"`
	DryRun  *DryRun `json:"dryRun,omitempty"`

	mask mask // of the paths that only the text form has
}

// An Owner is an owner reference.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

// A FieldOwner is a field owner that applies the object.
type FieldOwner struct {
	Name string `json:"name"`
	// Digest is the digest in the annotation of the default store. If empty, only Options name the field
	// owner.
	Digest string `json:"digest,omitempty"`
	// Adopted is set if another program created the object.
	Adopted bool `json:"adopted"`
	// LastApply is missing if the managed fields have no apply of the field owner.
	LastApply *time.Time `json:"lastApply,omitempty"`
	Fields    int        `json:"fields"`
	// Newer are the entries of other managers, except for the status, that are as new as the last apply, or
	// newer. Times have a resolution of one second. An entry without a time counts.
	Newer []Entry `json:"newer"`
}

// An Entry identifies one entry of the managed fields.
type Entry struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	// APIVersion is the version of the paths.
	APIVersion string     `json:"apiVersion"`
	Time       *time.Time `json:"time,omitempty"`
}

// String names an entry in the text form: "kubectl Update", "kube-controller-manager Update/status".
func (e Entry) String() string {
	text := e.Manager + " " + e.Operation
	if e.Subresource != "" {
		text += "/" + e.Subresource
	}
	return text
}

// A Manager is an entry of the managed fields with the fields of the entry.
type Manager struct {
	Entry
	// Trueup is set for the applies of a FieldOwner with a digest.
	Trueup bool    `json:"trueup"`
	Fields []Field `json:"fields"`

	leaves *fieldpath.Set
}

// A Field is a field of the live object. Like all paths of a report, Path does not have the values that name masked items.
type Field struct {
	Path string `json:"path"`
	// Value is missing if Masked or Absent is set.
	Value  any  `json:"value,omitempty"`
	Masked bool `json:"masked,omitempty"`
	// Absent is set if the object has no value at this path, for example because the path is of another
	// version of the kind.
	Absent bool `json:"absent,omitempty"`
	// AlsoOwnedBy names the other owners of the field, in the form of Entry.String.
	AlsoOwnedBy []string `json:"alsoOwnedBy,omitempty"`

	at string // the whole path, which the report does not show where it names a masked item
}

// A Shared field has several owners.
type Shared struct {
	Path   string   `json:"path"`
	Owners []string `json:"owners"` // in the form of Entry.String
}

// A DryRun is the effect that an apply of desired would have.
type DryRun struct {
	FieldManager string `json:"fieldManager"`
	// Creates is set if the object does not exist. There are no Changes then.
	Creates bool     `json:"creates"`
	Changes []Change `json:"changes"`
	// Losses are the fields that other managers would no longer own.
	Losses []Loss `json:"losses"`
	// Kept are the paths that trueup adds to each apply. The dry run took them from the live object, as
	// the file does not have them.
	Kept    []string `json:"kept,omitempty"`
	Refused *Refusal `json:"refused,omitempty"`
	// Migration is the effect of a migration, if Options ask for it.
	Migration *Migration `json:"migration,omitempty"`
}

// A Change is a difference between the live object and the result of the dry run.
type Change struct {
	// Kind is added, changed or removed.
	Kind string `json:"kind"`
	Path string `json:"path"`
	// Old is missing if Kind is added, New if Kind is removed, and both if Masked is set.
	Old    any  `json:"old,omitempty"`
	New    any  `json:"new,omitempty"`
	Masked bool `json:"masked,omitempty"`
}

// A Loss lists the fields that a manager would lose to the apply.
type Loss struct {
	Entry
	Paths []string `json:"paths"`
}

// A Refusal is the answer of an API server that refuses the apply.
type Refusal struct {
	Message string   `json:"message"`
	Paths   []string `json:"paths"` // in the form of the API server, masked if the values of the object are
}
