package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Finalizer delays the deletion of a PostgresWriter until the row is gone.
const Finalizer = "finalizers.postgreswriters.demo.yash.com/cleanup-row"

// ReadyCondition is True once the row matches the spec.
const ReadyCondition = "Ready"

// PostgresWriterSpec is the desired row of a PostgresWriter.
type PostgresWriterSpec struct {
	// table is the table of the row. The flag --tables of the operator must list the table. If the
	// table changes, the row moves.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="size(bytes(self)) <= 63",message="must not be longer than 63 bytes, the limit of PostgreSQL"
	// +kubebuilder:validation:XValidation:rule="!self.contains('\\u0000')",message="must not contain NUL, which PostgreSQL cannot store"
	Table string `json:"table"`

	// name is the value of the column name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="!self.contains('\\u0000')",message="must not contain NUL, which PostgreSQL cannot store"
	Name string `json:"name"`

	// age is the value of the column age, in years.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	Age int32 `json:"age"`

	// country is the value of the column country.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="!self.contains('\\u0000')",message="must not contain NUL, which PostgreSQL cannot store"
	Country string `json:"country"`
}

// RowClaim says whose the rows with a key are.
type RowClaim struct {
	// key is the primary key of the rows.
	// +required
	Key string `json:"key"`

	// uid is the UID of the PostgresWriter to which the rows belong. A copy of the PostgresWriter has another UID.
	// +required
	UID types.UID `json:"uid"`

	// unchecked lists the tables that could not be read since the key was claimed, or that have a row of somebody
	// else since then. The rows in these tables are not claimed.
	// +listType=set
	// +optional
	Unchecked []string `json:"unchecked,omitempty"`
}

// PostgresWriterStatus is the observed state of the row. The operator searches the row in the database. It trusts
// claimed, since only the operator may write the status, and uses table only while a table cannot be read.
type PostgresWriterStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions holds Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// id is the primary key of the row.
	// +optional
	ID string `json:"id,omitempty"`

	// table is the last table in which the operator saw the row.
	// +optional
	Table string `json:"table,omitempty"`

	// claimed says that the rows with this key belong to the PostgresWriter with this UID. Without a claim, the
	// operator neither overwrites nor deletes a row.
	// +optional
	Claimed *RowClaim `json:"claimed,omitempty"`
}

// PostgresWriter writes a row into a table of a PostgreSQL database.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=postgreswriters,shortName=pgw
// +kubebuilder:printcolumn:name="Table",type=string,JSONPath=`.spec.table`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Row",type=string,priority=1,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PostgresWriter struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired row.
	// +required
	Spec PostgresWriterSpec `json:"spec"`
	// status is the observed state.
	// +optional
	Status PostgresWriterStatus `json:"status,omitempty"`
}

// PostgresWriterList is a list of PostgresWriters.
//
// +kubebuilder:object:root=true
type PostgresWriterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PostgresWriter `json:"items"`
}
