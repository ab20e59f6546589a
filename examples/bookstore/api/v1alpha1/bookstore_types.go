package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Finalizer delays the deletion of a BookStore until the operator has deleted the objects that the garbage
// collector does not delete.
const Finalizer = "bookstores.blog.velotio.com/database"

// The types of conditions, in the order in which they are written.
const (
	// DatabaseReadyCondition is True once all pods of the database are ready.
	DatabaseReadyCondition = "DatabaseReady"
	// AppReadyCondition is True once all pods of the app are available and the Service is ready.
	AppReadyCondition = "AppReady"
	// ReadyCondition is True once the database and the app are ready.
	ReadyCondition = "Ready"
	// MongoDBServiceReadyCondition is True if the Service mongodb-service leads to this database. Ready does
	// not depend on this condition.
	MongoDBServiceReadyCondition = "MongoDBServiceReady"
	// VolumeResizedCondition is True once the volumes of the database have the size dbSize. Ready does not
	// depend on this condition.
	VolumeResizedCondition = "VolumeResized"
)

// The reasons of VolumeResized. If the API server refuses to change a claim, the reason is that of
// ensure.Reason.
const (
	// ReasonDone: every volume has the requested size.
	ReasonDone = "Done"
	// ReasonProvisioning: a volume does not exist yet.
	ReasonProvisioning = "Provisioning"
	// ReasonClassMissing: a volume does not exist because its StorageClass does not exist.
	ReasonClassMissing = "ClassMissing"
	// ReasonResizing: volumes are growing.
	ReasonResizing = "Resizing"
	// ReasonFileSystemResizePending: a volume has grown, but its file system has not. The file system
	// grows after a restart of the pod that the message names, or sooner.
	ReasonFileSystemResizePending = "FileSystemResizePending"
	// ReasonResizeFailed: the resizer of volumes reports a failure.
	ReasonResizeFailed = "ResizeFailed"
	// ReasonClaimTerminating: somebody deleted a claim. The claim is gone once the pod that the message
	// names is deleted.
	ReasonClaimTerminating = "ClaimTerminating"
	// ReasonShrinkingRefused: a volume cannot become smaller.
	ReasonShrinkingRefused = "ShrinkingRefused"
	// ReasonClassCannotExpand: the StorageClass of a claim does not allow expansion.
	ReasonClassCannotExpand = "ClassCannotExpand"
	// ReasonForeignClaim: a claim of another owner has the name of a claim of the database.
	ReasonForeignClaim = "ForeignClaim"
)

// The reasons of MongoDBServiceReady, besides those of ensure.Reason, such as Foreign.
const (
	// ReasonFound: the app finds the database as mongodb-service.
	ReasonFound = "Found"
	// ReasonTurnedOff: the spec asks for no such Service.
	ReasonTurnedOff = "TurnedOff"
)

// BookStoreSpec is the desired state of a BookStore.
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
//
// +kubebuilder:validation:XValidation:rule="!has(self.repository) || !self.repository.endsWith('@sha256') || has(self.tag) && self.tag.size() == 64",message="a repository that ends with @sha256 needs the 64 digits of a digest as tag",fieldPath=".repository"
type BookApp struct {
	// repository is the repository of the app's image.
	// +kubebuilder:default="akash125/pyapp"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^((\\\\[[0-9a-fA-F:]+\\\\]|[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\\\\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*)(:[0-9]+)?/)?[a-z0-9]+((\\\\.|__?|-+|/)[a-z0-9]+)*(@sha256)?$')",messageExpression="self.matches(':[^/]*$') ? 'must not contain a tag: use the field tag, for a digest after a repository that ends with @sha256' : 'must be the repository of an image, such as mongo or quay.io/team/shop: lower case letters and digits, separated by . _ - or /, and before the first / a host'"
	// +optional
	Repository string `json:"repository,omitempty"`

	// tag of the image.
	// +kubebuilder:default=latest
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^\\\\w[\\\\w.-]*$')",message="must be the tag of an image, such as 8.0: letters, digits, . _ and -, and first a letter, a digit or _"
	// +optional
	Tag string `json:"tag,omitempty"`

	// imagePullPolicy says when the image is pulled.
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;Never;IfNotPresent
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// replicas is the number of pods of the app.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Replicas int32 `json:"replicas"`

	// port of the Service.
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`

	// targetPort is the port on which the app listens.
	// +kubebuilder:default=3000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	TargetPort int32 `json:"targetPort,omitempty"`

	// serviceType is the type of the Service. Use ClusterIP or NodePort in clusters
	// without load balancers.
	// +kubebuilder:default=LoadBalancer
	// +kubebuilder:validation:Enum=LoadBalancer;NodePort;ClusterIP
	// +optional
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`
}

// BookDB is the MongoDB of the app.
//
// +kubebuilder:validation:XValidation:rule="!has(self.repository) || !self.repository.endsWith('@sha256') || has(self.tag) && self.tag.size() == 64",message="a repository that ends with @sha256 needs the 64 digits of a digest as tag",fieldPath=".repository"
type BookDB struct {
	// repository is the repository of the database's image.
	// +kubebuilder:default=mongo
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^((\\\\[[0-9a-fA-F:]+\\\\]|[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\\\\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*)(:[0-9]+)?/)?[a-z0-9]+((\\\\.|__?|-+|/)[a-z0-9]+)*(@sha256)?$')",messageExpression="self.matches(':[^/]*$') ? 'must not contain a tag: use the field tag, for a digest after a repository that ends with @sha256' : 'must be the repository of an image, such as mongo or quay.io/team/shop: lower case letters and digits, separated by . _ - or /, and before the first / a host'"
	// +optional
	Repository string `json:"repository,omitempty"`

	// tag of the image.
	// +kubebuilder:default=latest
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^\\\\w[\\\\w.-]*$')",message="must be the tag of an image, such as 8.0: letters, digits, . _ and -, and first a letter, a digit or _"
	// +optional
	Tag string `json:"tag,omitempty"`

	// imagePullPolicy says when the image is pulled.
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;Never;IfNotPresent
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// replicas is the number of databases. They are no replica set: each database is a separate
	// mongod with a separate volume, and the app uses the first one.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Replicas int32 `json:"replicas"`

	// port on which mongod listens.
	// +kubebuilder:default=27017
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`

	// dbSize is the size of the volume of each database, at least 1Mi. The size may grow if the
	// StorageClass allows expansion. The size cannot be reduced, except to more than the current size
	// of every volume.
	// ---
	// Without Schemaless, the pattern of a Quantity would count, too, whose message is a regular expression. It
	// also allows values that cannot be parsed (1e1.5), or not in finite time (1e999999999999). With such a value
	// in one BookStore, the operator could not list BookStores. For the same reason, quantity() gets no other value.
	// +kubebuilder:default="2Gi"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="type(self) == int || self.matches('^[+-]?[0-9]{1,18}(\\\\.[0-9]{1,9})?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$')",message="must be a quantity such as 2Gi"
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1048576 : !self.matches('^[+-]?[0-9]{1,18}(\\\\.[0-9]{1,9})?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') || !quantity(self).isLessThan(quantity('1Mi'))",message="must be at least 1Mi: write a unit, as in 3Gi"
	// +optional
	DBSize resource.Quantity `json:"dbSize,omitzero"`

	// storageClassName is the StorageClass of new volumes. The default is the cluster's default class.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a StorageClass: lower case letters, digits, - and ."
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`

	// retain keeps the volumes when the BookStore is deleted. A new BookStore of the same name
	// uses them again.
	// +kubebuilder:default=true
	// +optional
	Retain *bool `json:"retain,omitempty"`

	// mongodbService asks for the Service mongodb-service, besides <name>-mongodb: the host name under
	// which the app of the article looks for its database. There is one such Service in a namespace: if
	// somebody else has it, the condition MongoDBServiceReady says who.
	// +kubebuilder:default=true
	// +optional
	MongoDBService *bool `json:"mongodbService,omitempty"`

	// restartForResize allows the operator to restart a pod if the volume has grown and the file
	// system has not. The operator restarts one pod at a time, and waits before a restart, since
	// most file systems need none.
	// +optional
	RestartForResize bool `json:"restartForResize,omitempty"`
}

// BookStoreStatus is the observed state of a BookStore. Every reconcile computes the status from the live
// objects.
type BookStoreStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of ready pods of the app, without the surplus pods of a rollout.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// selector is the label selector of the app's pods, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`

	// conditions holds DatabaseReady, AppReady, Ready, MongoDBServiceReady and VolumeResized. The reasons of the first
	// three say why pods do not run, as far as the cluster knows.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// children are the objects of this BookStore, without volumes.
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	Children []Child `json:"children,omitempty"`

	// database is the identity of the database. The operator uses this field to find pods and
	// volumes if there is no StatefulSet, for example while the StatefulSet is being recreated.
	// +optional
	Database *Database `json:"database,omitempty"`

	// volumes are the claims of the database, including claims of former replicas.
	// +listType=map
	// +listMapKey=name
	// +optional
	Volumes []Volume `json:"volumes,omitempty"`
}

// Database has the names and labels that identify the pods and volumes of a database.
type Database struct {
	// statefulSet is the name of the StatefulSet, which is the prefix of the names of its pods.
	StatefulSet string `json:"statefulSet"`
	// service is the name of the headless Service.
	Service string `json:"service"`
	// claimTemplate is the name of the claim template. The names of the claims consist of this
	// name, the name of the StatefulSet and an ordinal.
	ClaimTemplate string `json:"claimTemplate"`
	// selector holds the labels of pods and claims.
	Selector map[string]string `json:"selector"`
}

// Child identifies an object of a BookStore.
type Child struct {
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object, in the BookStore's namespace.
	Name string `json:"name"`
	// uid distinguishes the object from earlier objects of the same name.
	UID types.UID `json:"uid"`
}

// Volume identifies a claim of the database.
type Volume struct {
	// name of the PersistentVolumeClaim, in the BookStore's namespace.
	Name string `json:"name"`
	// uid distinguishes the claim from earlier claims of the same name.
	UID types.UID `json:"uid"`
	// capacity is the size of the file system. The field is absent until there is a volume.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`
}

// BookStore runs a book store on the web: an app and a database, whose data outlives pods and whose
// volumes can grow.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.bookApp.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=bookstores,shortName=bs
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name must be a DNS-1035 label, as it begins the name of a Service: lower case letters, digits and hyphens, from a letter to a letter or a digit",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 44",message="the name must have at most 44 characters, as a label of the database's pods has 19 more and may have 63",optionalOldSelf=true
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`
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
