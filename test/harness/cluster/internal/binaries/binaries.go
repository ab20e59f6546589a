// Package binaries provides the programs of a cluster. They are built from source, once, into the
// user's cache.
//
// The modules of the programs pin their versions. A module's folder in the cache is named after the
// content of the module's files, so that another version has another folder. A program appears in
// the folder in one step. Only one build runs at a time in a folder, whatever the number of
// processes that need the build and the paths by which they reach the folder.
package binaries

import (
	"context"
	"io"
	"maps"
	"slices"
)

// A Program is the name of a program and of its file.
type Program string

// The programs of a cluster.
const (
	Etcd              Program = "etcd"
	APIServer         Program = "kube-apiserver"
	ControllerManager Program = "kube-controller-manager"
	Scheduler         Program = "kube-scheduler"
	Kwok              Program = "kwok"
	Kubectl           Program = "kubectl"
	// Supervisor is the program of package supervisor.
	Supervisor Program = "supervisor"
)

// The programs of a cluster's storage.
const (
	StorageDriver Program = "csi-driver"
	Provisioner   Program = "csi-provisioner"
	Resizer       Program = "csi-resizer"
)

// Cluster lists the programs that every cluster runs.
func Cluster() []Program {
	return []Program{Etcd, APIServer, ControllerManager, Scheduler, Kwok, Supervisor}
}

// Storage lists the programs that a cluster with storage runs besides.
func Storage() []Program {
	return []Program{StorageDriver, Provisioner, Resizer}
}

// Paths holds the absolute path of each program that was asked for.
type Paths map[Program]string

// Build returns the paths of the wanted programs. Missing ones are built, with progress reports,
// which takes minutes the first time. A build uses all processors, at a low priority.
// TRUEUP_K8S chooses the minor version of APIServer, ControllerManager and Scheduler.
//
// Etcd and APIServer are not built if they are installed already: in the folder that
// KUBEBUILDER_ASSETS names, whatever their version, or else where setup-envtest puts the pinned
// version. Kubectl is not built if the folder that KUBEBUILDER_ASSETS names has one.
func Build(ctx context.Context, progress io.Writer, wanted ...Program) (Paths, error) {
	b, err := newBuilder(progress)
	if err != nil {
		return nil, err
	}
	paths, err := b.installed(ctx, wanted)
	if err != nil {
		return nil, err
	}
	server, err := serverModule(b.root)
	if err != nil {
		return nil, err
	}
	for _, m := range modulesWith(server) {
		missing := slices.DeleteFunc(m.named(wanted), func(p program) bool { return paths[p.name] != "" })
		if len(missing) == 0 {
			continue
		}
		built, err := b.build(ctx, m, missing)
		if err != nil {
			return nil, err
		}
		maps.Copy(paths, built)
	}
	return paths, nil
}
