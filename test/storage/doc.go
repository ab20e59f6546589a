// Package storage is what the volumes of a local cluster are made of, if
// [github.com/trueup-go/trueup/test/cluster.WithStorage] asks for some: the real
// external-provisioner and external-resizer, a CSI driver that stores nothing, and in
// place of the kubelets a loop that does their part of an expansion. So claims are
// bound, grow and fail to grow as they do elsewhere, only sooner.
//
// The [Settings] of a cluster say when the nodes do their part and which expansions
// fail, and may be changed at any time:
//
//	noRoom := storage.Failure{Volume: claim.Spec.VolumeName, Code: codes.OutOfRange, Message: "no room"}
//	storage.Settings{Failures: []storage.Failure{noRoom}}.Use(t, shared.Dir())
//
// # How a claim grows
//
// This is what was seen, under Kubernetes 1.36.3 and external-resizer 2.2.0, of a claim
// of 2Gi that is asked for 3Gi. It is status.capacity / status.allocatedResources, the
// status in status.allocatedResourceStatuses, and the conditions, each of them True:
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
// and comes in any case, even if nobody needs to restart anything. A claim without a
// pod stays at 3. With the nodes [Offline] one with a running pod stays at 4, until the
// pod is another. Online, all of it takes about 0.1 s. The resizer may be killed at any
// point: the states are the same, and none comes twice.
//
// # How it fails
//
// After 2, for codes that say that it cannot be (InvalidArgument, OutOfRange,
// NotFound), and then for all others that are final:
//
//	2Gi/3Gi ControllerResizeInfeasible  Resizing, ControllerResizeError
//	2Gi/3Gi ControllerResizeInProgress  Resizing, ControllerResizeError
//
// ControllerResizeError has the message
//
//	failed to expand pvc with rpc error: code = OutOfRange desc = no room
//
// For codes that are not final (Canceled, DeadlineExceeded, Unavailable,
// ResourceExhausted, Aborted) the claim stays at 2, and nothing in it tells of the
// failure. In all cases there is an event VolumeResizeFailed about the claim:
//
//	resize volume "pvc-…" by resizer "storage.trueup.example" failed: rpc error: code = Unavailable desc = busy
//
// A driver that hangs ends in DeadlineExceeded, here after 2 s.
//
// The resizer goes on trying in each case: here after 0.2 s and then ever more slowly,
// up to every 2 s, which is also how long it lets what cannot be alone; elsewhere after
// 1 s, up to every 5 min. Each attempt may set the lastTransitionTime of Resizing. Once
// one succeeds, ControllerResizeError stays beside what comes, until the end takes it
// away:
//
//	2Gi/3Gi NodeResizePending     Resizing, ControllerResizeError, FileSystemResizePending
//	2Gi/3Gi NodeResizeInProgress  Resizing, ControllerResizeError, FileSystemResizePending
//	3Gi/3Gi                       (none)
//
// FailedPrecondition is final, and says that a volume is in use. The resizer does not
// ask the driver again as long as a pod mounts the claim, whatever has become of the
// driver, but says in an event VolumeResizeFailed:
//
//	Unable to expand NAMESPACE/NAME because CSI driver storage.trueup.example only
//	    supports offline expansion and volume is currently in-use
//
// # How it is asked for another size
//
// After a final failure the size may be asked to be more or less, but not less than
// status.capacity; a new attempt begins at once, at 2, without ControllerResizeError.
// After one that was not, the resizer first goes on with the size that it has begun with.
// More while the node is pending waits for the node: 3, 4, 5, and again from 2 to 4Gi.
//
// The server refuses to let a claim shrink, a claim grow whose class cannot expand,
// and one that is not bound (each is one line):
//
//	PersistentVolumeClaim "data" is invalid: spec.resources.requests.storage: Forbidden:
//	    field can not be less than status.capacity
//	persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized
//	    and the storageclass that provisions the pvc must support resize
//	PersistentVolumeClaim "data" is invalid: spec: Forbidden: spec is immutable after creation
//	    except resources.requests and volumeAttributesClassName for bound claims
//
// A difference of many lines follows the last.
package storage
