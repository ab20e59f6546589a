package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Finalizer keeps a BookStore until the objects of the database that no garbage collector deletes are
// gone.
const Finalizer = "bookstores.blog.velotio.com/database"

// The types of conditions, in the order in which they are written.
const (
	// DatabaseReadyCondition is True once all pods of the database are ready.
	DatabaseReadyCondition = "DatabaseReady"
	// AppReadyCondition is True once all pods of the app are available and the Service is ready.
	AppReadyCondition = "AppReady"
	// ReadyCondition is True once both are.
	ReadyCondition = "Ready"
	// VolumeResizedCondition is True once the volumes of the database have the size dbSize. A
	// BookStore that is Ready works with and without this condition.
	VolumeResizedCondition = "VolumeResized"
)

// The reasons of VolumeResized. Beside them there are those why the API server refused to
// change a claim.
const (
	// ReasonDone: every volume is as large as asked for.
	ReasonDone = "Done"
	// ReasonProvisioning: a volume is still to be made.
	ReasonProvisioning = "Provisioning"
	// ReasonResizing: volumes are being made larger.
	ReasonResizing = "Resizing"
	// ReasonFileSystemResizePending: a volume is larger already, but the file system on the volume
	// is not. The file system grows after a restart of the pod that the message names, or sooner.
	ReasonFileSystemResizePending = "FileSystemResizePending"
	// ReasonResizeFailed: the resizer of volumes reports a failure.
	ReasonResizeFailed = "ResizeFailed"
	// ReasonClaimTerminating: somebody deleted a claim. The claim goes when the pod that the message
	// names is gone.
	ReasonClaimTerminating = "ClaimTerminating"
	// ReasonShrinkingRefused: no volume can be made smaller.
	ReasonShrinkingRefused = "ShrinkingRefused"
	// ReasonClassCannotExpand: the StorageClass of a claim does not allow an expansion.
	ReasonClassCannotExpand = "ClassCannotExpand"
	// ReasonForeignClaim: a claim of somebody else has the name of a claim of the database.
	ReasonForeignClaim = "ForeignClaim"
)

// BookStoreSpec is the desired state.
type BookStoreSpec struct {
	// bookApp is the web app.
	// +kubebuilder:default={}
	// +optional
	BookApp BookApp `json:"bookApp,omitempty"`

	// bookDB is the database of the app.
	// +kubebuilder:default={}
	// +optional
	BookDB BookDB `json:"bookDB,omitempty"`
}

// BookApp is a web app and the Service in front of it.
type BookApp struct {
	// repository is where the app's image is.
	// +kubebuilder:default="akash125/pyapp"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Repository string `json:"repository,omitempty"`

	// tag of the image.
	// +kubebuilder:default=latest
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`
	// +optional
	Tag string `json:"tag,omitempty"`

	// imagePullPolicy says when the image is pulled.
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;Never;IfNotPresent
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// replicas is how many pods of the app run.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas int32 `json:"replicas"`

	// port of the Service.
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`

	// targetPort is where the app listens.
	// +kubebuilder:default=3000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	TargetPort int32 `json:"targetPort,omitempty"`

	// serviceType is the type of the Service: ClusterIP and NodePort are for clusters
	// without load balancers.
	// +kubebuilder:default=LoadBalancer
	// +kubebuilder:validation:Enum=LoadBalancer;NodePort;ClusterIP
	// +optional
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`
}

// BookDB is a MongoDB and the place of the data.
type BookDB struct {
	// repository is where the database's image is.
	// +kubebuilder:default=mongo
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Repository string `json:"repository,omitempty"`

	// tag of the image.
	// +kubebuilder:default=latest
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`
	// +optional
	Tag string `json:"tag,omitempty"`

	// imagePullPolicy says when the image is pulled.
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;Never;IfNotPresent
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// replicas is the number of databases. Each one is a separate mongod with a separate volume:
	// they are no replica set, and the app uses the first one.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas int32 `json:"replicas"`

	// port that mongod listens on.
	// +kubebuilder:default=27017
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`

	// dbSize is the size of the volume of each database. The size may grow if the StorageClass
	// allows expansion. The size cannot become smaller than the volumes are, but a size that the
	// volumes never reached may be taken back.
	// ---
	// The pattern is narrower than that of a Quantity, which accepts values that cannot be read
	// (1e1.5), or not in finite time (1e999999999999). Such a value would keep the operator from
	// reading any BookStore.
	// +kubebuilder:default="2Gi"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^[+-]?[0-9]{1,18}(\.[0-9]{1,9})?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	// +optional
	DBSize resource.Quantity `json:"dbSize,omitzero"`

	// storageClassName is the StorageClass of new volumes. The default is that of the cluster.
	// +kubebuilder:validation:MinLength=1
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`

	// retain keeps the volumes when the BookStore is deleted. A new BookStore of the same name
	// uses them again.
	// +kubebuilder:default=true
	// +optional
	Retain *bool `json:"retain,omitempty"`

	// restartForResize allows the operator to restart a pod if the file system on a larger volume
	// waits for a restart. The operator restarts one pod at a time, after a while: most file
	// systems need no restart.
	// +optional
	RestartForResize bool `json:"restartForResize,omitempty"`
}

// BookStoreStatus is the observed state. Every reconcile computes the status from the live objects.
type BookStoreStatus struct {
	// observedGeneration is the generation of the spec that this status tells of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions holds DatabaseReady, AppReady, Ready and VolumeResized.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// children are the objects made for this BookStore, as far as they are there.
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Children []Child `json:"children,omitempty"`

	// database is the identity by which the pods and volumes of the database are found. The
	// StatefulSet decides the identity. Without a StatefulSet, such as while one is being recreated,
	// the operator uses this field.
	// +optional
	Database *Database `json:"database,omitempty"`

	// volumes are the claims of the database, those of earlier replicas included.
	// +listType=map
	// +listMapKey=name
	// +optional
	Volumes []Volume `json:"volumes,omitempty"`
}

// Database has the names that identify the pods and volumes of a database.
type Database struct {
	// statefulSet is the name of the StatefulSet, with which the names of the pods begin.
	StatefulSet string `json:"statefulSet"`
	// service is the name of the headless Service.
	Service string `json:"service"`
	// claimTemplate is the name of the claim template. The names of the claims consist of this
	// name, the name of the StatefulSet and an ordinal.
	ClaimTemplate string `json:"claimTemplate"`
	// selector holds the labels of pods and claims.
	Selector map[string]string `json:"selector"`
}

// Child names an object that was made for a BookStore.
type Child struct {
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object, in the BookStore's namespace.
	Name string `json:"name"`
	// uid tells the object from an earlier one of the same name.
	UID types.UID `json:"uid"`
}

// Volume names a claim of the database.
type Volume struct {
	// name of the PersistentVolumeClaim, in the BookStore's namespace.
	Name string `json:"name"`
	// uid tells the claim from an earlier one of the same name.
	UID types.UID `json:"uid"`
	// capacity is the size of the file system. The field is absent until there is a volume.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`
}

// BookStore is a book store on the web: an app and a database, whose data outlives pods and whose
// volumes can grow.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bookstores
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.spec.bookDB.dbSize`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Volume",type=string,JSONPath=`.status.conditions[?(@.type=="VolumeResized")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BookStore struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +kubebuilder:default={}
	// +optional
	Spec BookStoreSpec `json:"spec,omitempty"`
	// status is the observed state.
	// +optional
	Status BookStoreStatus `json:"status,omitempty"`
}

// BookStoreList is a list of BookStores.
//
// +kubebuilder:object:root=true
type BookStoreList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BookStore `json:"items"`
}
