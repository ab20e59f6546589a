package storage

// Driver is the name of the CSI driver and, thereby, of the provisioner and the resizer.
const Driver = "storage.trueup.example"

// The storage classes of a cluster with storage. Both bind at once and delete volumes with their
// claims.
const (
	// ExpandableClass is the default class. Its claims may grow.
	ExpandableClass = "expandable"
	// FixedClass has claims that may not grow.
	FixedClass = "fixed"
)

// SocketFile is where the driver listens, in the cluster's folder.
const SocketFile = "csi.sock"
