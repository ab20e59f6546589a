// Package cluster runs a real Kubernetes control plane for tests, without
// containers: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
// and kwok in place of the kubelets, as plain processes that listen on
// 127.0.0.1 only. A start takes seconds, and any number can run side by side.
//
//	var shared *cluster.Cluster
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m, &shared)) }
//
//	func TestReconcile(t *testing.T) {
//		config := shared.Config()
//		config.UserAgent = "reconciler"
//		namespace := shared.Namespace(t)
//		…
//		mark := shared.Mark()
//		…
//		requests, err := shared.Requests(mark, cluster.ByUserAgent("reconciler"))
//		require.NoError(t, err)
//		require.Equal(t, map[string]int{"patch deployments": 1}, cluster.Counts(requests))
//	}
//
// # The cluster
//
// Authorization is Node and RBAC; the admission plugins are the default ones
// and OwnerReferencesPermissionEnforcement. All of kube-controller-manager's
// controllers run. Pods that are scheduled become ready at once, those of a Job
// succeed, and deleted ones go without a grace period; they run nothing. The tag
// of a pod's image can keep it from becoming ready: pending leaves it at
// ContainerCreating, missing at ImagePullBackOff, crashing at CrashLoopBackOff. For
// other states see [Stages]. There is no load balancer, and no storage unless
// [WithStorage] adds some.
//
// # The programs
//
// The programs are built from source, from the Go module proxy, on first use,
// which takes minutes: see the module tools/cluster. They are kept in
// ${XDG_CACHE_HOME:-~/.cache}/trueup and shared by all checkouts. If
// KUBEBUILDER_ASSETS is set, etcd and kube-apiserver are taken from there, in
// any version; otherwise from the folder where setup-envtest installs the same
// version. Only the needed programs are built.
//
// TRUEUP_K8S=1.33 has kube-apiserver, kube-controller-manager and kube-scheduler
// built from the module tools/cluster/1.33.
//
// # Faults
//
// [Cluster.Kill], [Cluster.Freeze], [Cluster.Resume] and [Cluster.Restart] cause
// faults of each component of a cluster that [Start] started in this process. The
// cluster of [Up] has no Cluster to call them on: a process killed there stays
// dead, and [Down] still works.
//
// # Cleanup
//
// A cluster leaves nothing behind. Each cluster has a supervisor, a small process
// that kills all others and removes the cluster's folder when [Cluster.Stop] is
// called, or when the process that called [Start] ends for any reason.
package cluster
