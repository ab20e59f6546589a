// Package binaries builds the programs that a cluster is made of, once, into
// the user's cache.
//
// What is built, and from which versions, is pinned by the nested modules
// below tools/: the folder of the cache that holds a program is named after
// the content of its module's files, so that another version is another
// folder. A program appears in it whole or not at all, and one build runs at a
// time, whatever the number of processes that need it.
package binaries

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// Set holds the paths of everything that a cluster needs.
type Set struct {
	Etcd              string
	APIServer         string
	ControllerManager string
	Scheduler         string
	Kwok              string
	// Stages is a file of kwok stages: how nodes and pods come to life, run
	// to completion and go.
	Stages string
	// Supervisor is the program of package supervisor.
	Supervisor string
}

// All builds what is missing, which takes minutes the first time and nothing
// later, and says so on progress. Etcd and kube-apiserver are taken from the
// folder that KUBEBUILDER_ASSETS names, if it is set.
func All(ctx context.Context, progress io.Writer) (Set, error) {
	b, err := newBuilder(progress)
	if err != nil {
		return Set{}, err
	}
	set := Set{
		Etcd:              b.asset(ctx, etcd),
		APIServer:         b.asset(ctx, apiServer),
		ControllerManager: b.program(ctx, controllerManager),
		Scheduler:         b.program(ctx, scheduler),
		Kwok:              b.program(ctx, kwok),
		Stages:            b.stages(ctx),
		Supervisor:        b.program(ctx, supervisor),
	}
	return set, b.err
}

// StorageSet holds the paths of what a cluster with storage needs besides.
type StorageSet struct {
	Driver      string
	Provisioner string
	Resizer     string
}

// Storage is [All] for what storage needs.
func Storage(ctx context.Context, progress io.Writer) (StorageSet, error) {
	b, err := newBuilder(progress)
	if err != nil {
		return StorageSet{}, err
	}
	set := StorageSet{
		Driver:      b.program(ctx, storageDriver),
		Provisioner: b.program(ctx, provisioner),
		Resizer:     b.program(ctx, resizer),
	}
	return set, b.err
}

// Kubectl builds kubectl if need be and returns its path. The one in the
// folder that KUBEBUILDER_ASSETS names is preferred.
func Kubectl(ctx context.Context, progress io.Writer) (string, error) {
	b, err := newBuilder(progress)
	if err != nil {
		return "", err
	}
	if assets := os.Getenv(assetsVariable); assets != "" {
		path := filepath.Join(assets, kubectl.name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return b.program(ctx, kubectl), b.err
}
