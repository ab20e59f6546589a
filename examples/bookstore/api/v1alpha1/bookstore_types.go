package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Finalizer keeps a BookStore until nothing of its database is left that no garbage
// collector would take along.
const Finalizer = "bookstores.blog.velotio.com/database"

// The types of conditions, in the order in which they are written.
const (
	// DatabaseReadyCondition is True once all pods of the database are ready.
	DatabaseReadyCondition = "DatabaseReady"
	// AppReadyCondition is True once all pods of the app are available and its Service is ready.
	AppReadyCondition = "AppReady"
	// ReadyCondition is True once both are.
	ReadyCondition = "Ready"
	// VolumeResizedCondition is True once the volumes of the database are as large as
	// dbSize asks for. A BookStore that is Ready works whether it is True or not.
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
	// ReasonFileSystemResizePending: a volume is larger, and the file system on it is not
	// yet. It will be once the pod that the message names has been restarted, if not
	// before.
	ReasonFileSystemResizePending = "FileSystemResizePending"
	// ReasonResizeFailed: who makes volumes larger says that it cannot.
	ReasonResizeFailed = "ResizeFailed"
	// ReasonClaimTerminating: somebody deletes a claim. It is there for as long as the pod is
	// that the message names.
	ReasonClaimTerminating = "ClaimTerminating"
	// ReasonShrinkingRefused: no volume can be made smaller.
	ReasonShrinkingRefused = "ShrinkingRefused"
	// ReasonClassCannotExpand: the StorageClass of a claim does not allow it to grow.
	ReasonClassCannotExpand = "ClassCannotExpand"
	// ReasonForeignClaim: a claim has the name of one of the database's and is not its own.
	ReasonForeignClaim = "ForeignClaim"
)

// BookStoreSpec is what should run.
type BookStoreSpec struct {
	// bookApp is the web app.
	// +kubebuilder:default={}
	// +optional
	BookApp BookApp `json:"bookApp,omitempty"`

	// bookDB is the database behind it.
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

// BookDB is a MongoDB and where it keeps its data.
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

	// replicas is how many databases run. Each is a mongod of its own, with a volume of
	// its own: they are no replica set, and the app is told of the first.
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

	// dbSize is how large the volume of each database is. It may grow, if the
	// StorageClass allows for that. It may not become less than what volumes have; what
	// was asked for and never came may be taken back.
	// ---
	// The pattern is narrower than a Quantity's own, which lets pass what cannot be read
	// (1e1.5) or takes for ever to (1e999999999999), and so would keep the operator from
	// reading any BookStore.
	// +kubebuilder:default="2Gi"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^[+-]?[0-9]{1,18}(\.[0-9]{1,9})?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	// +optional
	DBSize resource.Quantity `json:"dbSize,omitzero"`

	// storageClassName is the StorageClass of volumes that are still to be made. Without
	// it that is the cluster's default.
	// +kubebuilder:validation:MinLength=1
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`

	// retain keeps the volumes when the BookStore is deleted. A BookStore of the same name
	// finds its data again.
	// +kubebuilder:default=true
	// +optional
	Retain *bool `json:"retain,omitempty"`

	// restartForResize lets the operator restart a pod, where the file system on a
	// volume that has grown waits for that. One pod at a time, once it has waited a
	// while: most file systems need no restart.
	// +optional
	RestartForResize bool `json:"restartForResize,omitempty"`
}

// BookStoreStatus tells how the BookStore stands. It is worked out anew from the live
// objects in every reconcile and never read by the operator.
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

	// database is what tells the database's pods and volumes from others. That is the
	// StatefulSet's to say; the operator goes by this where there is none, as for the moment
	// in which it is made again.
	// +optional
	Database *Database `json:"database,omitempty"`

	// volumes are the claims of the database, those of earlier replicas included.
	// +listType=map
	// +listMapKey=name
	// +optional
	Volumes []Volume `json:"volumes,omitempty"`
}

// Database names what the pods and volumes of a database go by.
type Database struct {
	// statefulSet is its name. The names of pods begin with it.
	StatefulSet string `json:"statefulSet"`
	// service is the name of the headless Service.
	Service string `json:"service"`
	// claimTemplate is its name. The names of claims begin with it, and that of the
	// StatefulSet follows.
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
	// capacity is how large the file system is. It is absent until there is a volume.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`
}

// BookStore is a book store on the web: an app and its database, whose data outlives
// pods and whose volumes can grow.
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

	// spec is what should run.
	// +kubebuilder:default={}
	// +optional
	Spec BookStoreSpec `json:"spec,omitempty"`
	// status tells how it stands.
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
