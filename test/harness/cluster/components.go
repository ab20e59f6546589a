package cluster

import (
	"fmt"
	"strconv"

	"github.com/trueup-go/trueup/test/harness/cluster/internal/binaries"
	"github.com/trueup-go/trueup/test/harness/cluster/internal/supervisor"
)

// A Component is a program of a cluster, by its name.
type Component string

// The components. APIServer needs Etcd, the others need APIServer.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	Kwok              Component = "kwok"
)

// The components of storage, which exist with [WithStorage]. StorageDriver also acts for the nodes,
// and the other components need StorageDriver.
const (
	StorageDriver Component = "csi-driver"
	Provisioner   Component = "csi-provisioner"
	Resizer       Component = "csi-resizer"
)

// serviceRange is the address range of Services; the Service kubernetes has the first address.
const serviceRange = "10.96.0.0/16"

// etcd and the API server communicate through a socket file, whose name is relative to the
// cluster's folder, their working directory: no other program can take the port, and the length of
// the folder's path is not limited. etcd requires the port in the name, which has no meaning, and
// the advertised address, which nobody uses.
const (
	etcdSocketFile = "etcd.sock:0"
	etcdSocket     = "unix://" + etcdSocketFile
)

// process returns the command line of a component.
func (c *Cluster) process(component Component) (supervisor.Process, error) {
	process := supervisor.Process{
		Name: string(component), Path: c.programs[binaries.Program(component)], Env: []string{rareCollections},
	}
	switch component {
	case Etcd:
		process.Args = etcdFlags()
	case APIServer:
		process.Args = apiServerFlags(c.port.Number)
	case ControllerManager:
		process.Args = controllerManagerFlags()
	case Scheduler:
		process.Args = clientFlags(schedulerKubeconfig)
	case Kwok:
		process.Args = kwokFlags()
		process.Env = append(process.Env, oneProcessor)
	case StorageDriver:
		process.Args = []string{storageKubeconfig}
	case Provisioner:
		process.Args = append(c.sidecarFlags(provisionerKubeconfig), provisionerFlags()...)
	case Resizer:
		process.Args = append(c.sidecarFlags(resizerKubeconfig), resizerFlags()...)
	}
	if process.Path == "" {
		return process, fmt.Errorf("there is no component %q", component)
	}
	process.Args = append(process.Args, c.options.flags[component]...)
	return process, nil
}

func etcdFlags() []string {
	return []string{
		"--data-dir=etcd",
		"--listen-client-urls=" + etcdSocket,
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=unix://peer.sock:0",
		"--unsafe-no-fsync", // what is written outlives the process all the same
		"--log-level=warn",
	}
}

func apiServerFlags(port int) []string {
	return []string{
		"--etcd-servers=" + etcdSocket,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--permit-port-sharing", // with our reservation
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--token-auth-file=" + tokensFile,
		"--tls-cert-file=" + serverPair.certificate(),
		"--tls-private-key-file=" + serverPair.key(),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + accountsPair.certificate(),
		"--service-account-signing-key-file=" + accountsPair.key(),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--allow-privileged",
		"--audit-policy-file=" + auditPolicyFile,
		"--audit-log-path=" + auditLogFile,
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=0",            // never rotated: Requests reads by offset
		"--shutdown-send-retry-after=true", // else a SIGTERM takes a minute
	}
}

func controllerManagerFlags() []string {
	return append(clientFlags(controllerManagerKubeconfig),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+accountsPair.key(),
		"--root-ca-file="+authorityPair.certificate(),
		"--cluster-signing-cert-file="+authorityPair.certificate(),
		"--cluster-signing-key-file="+authorityPair.key(),
		"--service-cluster-ip-range="+serviceRange,
		"--node-monitor-grace-period=87600h", // nodes without kubelets have no heartbeat
	)
}

// clientFlags are the common flags of kube-controller-manager and kube-scheduler. They disable
// serving, and raise the rate limit, with which the first Deployment would otherwise take seconds.
func clientFlags(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}
}

// rareCollections lets the garbage collector of a component wait until the heap is five times what is in use. That saves a
// seventh of the processor time of a suite.
const rareCollections = "GOGC=400"

// oneProcessor avoids a crash of kwok. kwok prepares the stages of nodes and of pods at the first
// of each, in two goroutines that write to the same maps. At the first start, nodes come before
// pods; after a restart, both come at once, and the Go runtime ends a program with concurrent map
// writes. With one processor this does not happen: no goroutine is preempted within a write.
const oneProcessor = "GOMAXPROCS=1"

func kwokFlags() []string {
	return []string{
		"--kubeconfig=" + kwokKubeconfig,
		"--config=" + stagesFile,
		"--manage-all-nodes=true",
		"--node-lease-duration-seconds=0",
		"--node-ip=127.0.0.1",
		"--node-port=0",       // with a port it would serve on all addresses
		"--cidr=10.128.0.1/9", // the addresses of pods
	}
}
