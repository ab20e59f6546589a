package cluster

import (
	"strconv"

	"github.com/trueup-go/trueup/test/cluster/internal/supervisor"
)

// serviceRange is where Services get their addresses; its first is that of the
// Service kubernetes.
const serviceRange = "10.96.0.0/16"

// etcd and the API server talk through a socket file, whose name is relative
// to the cluster's folder, where both run: no port to be taken by others, no
// limit on the length of the folder's path. The port in the name is not one,
// but etcd asks for it; so is the advertised address, which nobody uses.
const etcdSocket = "unix://etcd.sock:0"

func (c *Cluster) etcd() supervisor.Process {
	return supervisor.Process{Name: "etcd", Path: c.programs.Etcd, Args: []string{
		"--data-dir=etcd",
		"--listen-client-urls=" + etcdSocket,
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=unix://peer.sock:0",
		"--unsafe-no-fsync",
		"--log-level=warn",
	}}
}

func (c *Cluster) apiServer(port int) supervisor.Process {
	return supervisor.Process{Name: "kube-apiserver", Path: c.programs.APIServer, Args: []string{
		"--etcd-servers=" + etcdSocket,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--permit-port-sharing", // with our reservation
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--client-ca-file=" + authorityPair.certificate(),
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
	}}
}

func (c *Cluster) controllerManager() supervisor.Process {
	args := append(c.clientFlags(controllerManagerKubeconfig),
		"--controllers=*",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+accountsPair.key(),
		"--root-ca-file="+authorityPair.certificate(),
		"--cluster-signing-cert-file="+authorityPair.certificate(),
		"--cluster-signing-key-file="+authorityPair.key(),
		"--service-cluster-ip-range="+serviceRange,
		"--node-monitor-grace-period=87600h", // nodes without kubelets have no heartbeat
	)
	return supervisor.Process{Name: "kube-controller-manager", Path: c.programs.ControllerManager, Args: args}
}

func (c *Cluster) scheduler() supervisor.Process {
	return supervisor.Process{Name: "kube-scheduler", Path: c.programs.Scheduler, Args: c.clientFlags(schedulerKubeconfig)}
}

// clientFlags are what kube-controller-manager and kube-scheduler have in
// common. They serve nothing; and the default rate limit would make the first
// Deployment take seconds.
func (c *Cluster) clientFlags(kubeconfig string) []string {
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

func (c *Cluster) kwok() supervisor.Process {
	return supervisor.Process{Name: "kwok", Path: c.programs.Kwok, Args: []string{
		"--kubeconfig=" + kwokKubeconfig,
		"--config=" + stagesFile,
		"--manage-all-nodes=true",
		"--node-lease-duration-seconds=0",
		"--node-ip=127.0.0.1",
		"--node-port=0",       // with a port it would serve on all addresses
		"--cidr=10.128.0.1/9", // the addresses of pods
	}}
}
