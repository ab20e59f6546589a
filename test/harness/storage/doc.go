// Package storage provides the volumes of a local cluster with
// [github.com/trueup-go/trueup/test/cluster.WithStorage]: the real external-provisioner
// and external-resizer, a CSI driver that stores nothing, and instead of the kubelets a
// loop that does their part of an expansion. Claims are bound, grow and fail to grow as
// in other clusters, only sooner.
//
// The [Settings] of a cluster determine when the nodes do their part and which
// expansions fail, and may be changed at any time:
//
//	noRoom := storage.Failure{Volume: claim.Spec.VolumeName, Code: codes.OutOfRange, Message: "no room"}
//	storage.Settings{Failures: []storage.Failure{noRoom}}.Use(t, shared.Dir())
//
// # How a claim grows
//
// These states were observed under Kubernetes 1.36.3 and external-resizer 2.2.0, of a
// claim of 2Gi whose request becomes 3Gi. Each line has status.capacity /
// status.allocatedResources, the status in status.allocatedResourceStatuses, and the
// conditions, all of them True:
//
//	1  2Gi/-                               (nothing: spec.resources.requests alone has changed)
//	2  2Gi/3Gi ControllerResizeInProgress  Resizing
//	3  2Gi/3Gi NodeResizePending           Resizing, FileSystemResizePending
//	4  2Gi/3Gi NodeResizeInProgress        Resizing, FileSystemResizePending
//	5  3Gi/3Gi                             (none)
//
// The resizer writes 2 and 3, and the volume's capacity in between, and the kubelet 4
// and 5. allocatedResources stays for good. FileSystemResizePending has the message
//
//	Waiting for user to (re-)start a pod to finish file system resize of volume on node.
//
// and always appears, even if no restart is needed. A claim without a pod stays at 3.
// With the nodes [Offline], a claim with a running pod stays at 4 until another pod
// mounts the claim. Online, the expansion takes about 0.1 s. The resizer may be killed
// at any point: the states are the same, and none is repeated.
//
// # How an expansion fails
//
// After 2, first for codes that mean an impossible expansion (InvalidArgument,
// OutOfRange, NotFound), then for all other final codes:
//
//	2Gi/3Gi ControllerResizeInfeasible  Resizing, ControllerResizeError
//	2Gi/3Gi ControllerResizeInProgress  Resizing, ControllerResizeError
//
// ControllerResizeError has the message
//
//	failed to expand pvc with rpc error: code = OutOfRange desc = no room
//
// For codes that are not final (Canceled, DeadlineExceeded, Unavailable,
// ResourceExhausted, Aborted) the claim stays at 2, and does not show the failure. In
// all cases there is an event VolumeResizeFailed about the claim:
//
//	resize volume "pvc-…" by resizer "storage.trueup.example" failed: rpc error: code = Unavailable desc = busy
//
// A driver that hangs ends in DeadlineExceeded, here after 2 s.
//
// The resizer retries in each case: here after 0.2 s and then at growing intervals up to
// 2 s, which is also the interval for impossible expansions; elsewhere after 1 s, up to
// every 5 min. Each attempt may set the lastTransitionTime of Resizing. After a success,
// ControllerResizeError stays with the next states, until the end of the expansion
// removes the condition:
//
//	2Gi/3Gi NodeResizePending     Resizing, ControllerResizeError, FileSystemResizePending
//	2Gi/3Gi NodeResizeInProgress  Resizing, ControllerResizeError, FileSystemResizePending
//	3Gi/3Gi                       (none)
//
// FailedPrecondition is final, and means that a volume is in use. As long as a pod
// mounts the claim, the resizer does not ask the driver again, even if the driver would
// accept by now, but creates an event VolumeResizeFailed:
//
//	Unable to expand NAMESPACE/NAME because CSI driver storage.trueup.example only
//	    supports offline expansion and volume is currently in-use
//
// # How the requested size changes
//
// After a final failure, the request may be raised or lowered, but not below
// status.capacity; a new attempt begins at once, at 2, without ControllerResizeError.
// After another failure, the resizer first continues with the earlier size. A larger
// request while the node is pending waits for the node: 3, 4, 5, and again from 2 to 4Gi.
//
// The server refuses to shrink a claim, to grow a claim whose class cannot expand, and
// to grow an unbound claim (each message is one line):
//
//	PersistentVolumeClaim "data" is invalid: spec.resources.requests.storage: Forbidden:
//	    field can not be less than status.capacity
//	persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized
//	    and the storageclass that provisions the pvc must support resize
//	PersistentVolumeClaim "data" is invalid: spec: Forbidden: spec is immutable after creation
//	    except resources.requests and volumeAttributesClassName for bound claims
//
// A diff of many lines follows the last one.
package storage
