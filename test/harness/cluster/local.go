package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/trueup-go/trueup/test/harness/cluster/internal/binaries"
	"github.com/trueup-go/trueup/test/harness/cluster/internal/supervisor"
	"github.com/trueup-go/trueup/test/harness/filelock"
	"github.com/trueup-go/trueup/test/harness/places"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// Build builds every missing program of a cluster and of its storage, and kubectl, with a message
// on standard error.
func Build(ctx context.Context) error {
	_, err := binaries.Build(ctx, os.Stderr, slices.Concat(binaries.Cluster(), binaries.Storage(), []binaries.Program{binaries.Kubectl})...)
	return err
}

// ErrOtherVersion is the error of [CheckVersion].
var ErrOtherVersion = binaries.ErrOtherVersion

// Version returns the version of Kubernetes that is built from source, such as v1.36.3: that of TRUEUP_K8S, or
// the pinned one.
func Version() (string, error) { return binaries.Version() }

// CheckVersion returns an error that wraps [ErrOtherVersion] if TRUEUP_K8S or KUBEBUILDER_ASSETS chooses a
// kube-apiserver of another version than the pinned one.
func CheckVersion(ctx context.Context) error { return binaries.CheckVersion(ctx) }

// Kubectl returns the path of kubectl, and builds a missing kubectl in the cluster's version. A
// kubectl in KUBEBUILDER_ASSETS is used unchanged.
func Kubectl(ctx context.Context) (string, error) {
	paths, err := binaries.Build(ctx, os.Stderr, binaries.Kubectl)
	return paths[binaries.Kubectl], err
}

// Up starts the user's single local cluster if there is none, and returns the path of the
// kubeconfig. The cluster outlives this process, until [Down]. The options have no effect on a
// running cluster.
func Up(ctx context.Context, opts ...Option) (string, error) {
	dir, lock, err := lockLocal(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	up, err := filelock.Held(filepath.Join(dir, supervisor.PIDFile))
	if err != nil {
		return "", err
	}
	if up {
		return filepath.Join(dir, kubeconfigFile), sameStorage(dir, newOptions(opts))
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("cannot remove what is left of an earlier cluster: %w", err)
	}
	c, err := start(ctx, dir, opts)
	if err != nil {
		return "", err
	}
	if err := c.supervisor.Detach(); err != nil {
		return "", errors.Join(err, c.Stop())
	}
	c.port.Release() // nobody restarts its API server
	return c.Kubeconfig(), nil
}

// sameStorage is an error if storage is asked for and the cluster in dir has none.
func sameStorage(dir string, wanted options) error {
	if !wanted.storage {
		return nil
	}
	_, err := os.Stat(filepath.Join(dir, storage.SocketFile))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the local cluster is up and has no storage: end it with `make cluster-down` first")
	}
	return err
}

// Down ends the user's local cluster, and returns when all processes and the folder are gone. The
// programs stay. Down returns nil if the cluster is down already.
func Down(ctx context.Context) error {
	dir, lock, err := lockLocal(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	pidFile := filepath.Join(dir, supervisor.PIDFile)
	up, err := filelock.Held(pidFile)
	if err != nil {
		return err
	}
	if up {
		if err := endSupervisor(ctx, pidFile); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cannot remove the cluster's folder: %w", err)
	}
	return nil
}

// lockLocal returns the local cluster's folder, and keeps other processes from starting or ending
// the cluster.
func lockLocal(ctx context.Context) (string, *filelock.Lock, error) {
	cache, err := places.Cache()
	if err != nil {
		return "", nil, err
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(cache, "local.lock"))
	if err != nil {
		return "", nil, err
	}
	return filepath.Join(cache, "local"), lock, nil
}

// endSupervisor ends the supervisor that holds the lock of this file, and waits until the lock is
// released.
func endSupervisor(ctx context.Context, pidFile string) error {
	content, err := os.ReadFile(pidFile)
	if err != nil {
		return fmt.Errorf("cannot read the supervisor's process id: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("cannot read the supervisor's process id: %w", err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot end the supervisor, process %d: %w", pid, err)
	}
	gone, err := filelock.Acquire(ctx, pidFile)
	if err != nil {
		return err
	}
	gone.Release()
	return nil
}
