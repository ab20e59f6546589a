package binaries

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// assetsVariable names the folder of installed programs, as in controller-runtime's
// envtest.
const assetsVariable = "KUBEBUILDER_ASSETS"

// installed returns the paths of the wanted programs that need not be built.
func (b *builder) installed(ctx context.Context, wanted []Program) (Paths, error) {
	if assets := os.Getenv(assetsVariable); assets != "" {
		return b.assets(ctx, assets, wanted)
	}
	paths := Paths{}
	folder, err := envtestFolder()
	if err != nil {
		return nil, err
	}
	if folder == "" || !slices.Contains(wanted, APIServer) {
		return paths, nil
	}
	// All or none: an etcd alone does not reveal its Kubernetes version.
	for _, p := range []Program{Etcd, APIServer} {
		path := filepath.Join(folder, string(p))
		if _, err := os.Stat(path); err != nil {
			return Paths{}, nil //nolint:nilerr // it is not installed, so it is built
		}
		paths[p] = path
	}
	if err := checkVersion(ctx, paths[APIServer]); err != nil {
		fmt.Fprintf(b.progress, "warning: %v; it is built instead\n", err)
		return Paths{}, nil
	}
	return paths, nil
}

// assets returns the paths of the wanted programs in the folder that KUBEBUILDER_ASSETS names. The
// folder must have etcd and kube-apiserver; kubectl is optional.
func (b *builder) assets(ctx context.Context, folder string, wanted []Program) (Paths, error) {
	paths := Paths{}
	for _, p := range []Program{Etcd, APIServer, Kubectl} {
		if !slices.Contains(wanted, p) {
			continue
		}
		path, err := filepath.Abs(filepath.Join(folder, string(p)))
		if err == nil {
			_, err = os.Stat(path)
		}
		if errors.Is(err, fs.ErrNotExist) && p == Kubectl {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot find %s in %s: %w", p, assetsVariable, err)
		}
		paths[p] = path
	}
	if server := paths[APIServer]; server != "" {
		return paths, b.warnOfVersion(ctx, server)
	}
	return paths, nil
}

// warnOfVersion reports a kube-apiserver of an unexpected version.
func (b *builder) warnOfVersion(ctx context.Context, server string) error {
	err := checkVersion(ctx, server)
	if errors.Is(err, ErrOtherVersion) {
		fmt.Fprintf(b.progress, "warning: %v\n", err)
		return nil
	}
	return err
}

// ErrOtherVersion means that kube-apiserver is not of the expected version.
var ErrOtherVersion = errors.New("not the expected version")

// CheckVersion returns ErrOtherVersion if the cluster's kube-apiserver is not of the pinned version, because of
// TRUEUP_K8S or KUBEBUILDER_ASSETS.
func CheckVersion(ctx context.Context) error {
	pinned, err := pinnedVersion()
	if err != nil {
		return err
	}
	chosen, err := Version()
	if err != nil {
		return err
	}
	if chosen != pinned {
		return fmt.Errorf("%s chooses %s: %w, %s", minorVariable, chosen, ErrOtherVersion, pinned)
	}
	assets := os.Getenv(assetsVariable)
	if assets == "" {
		return nil
	}
	server, err := filepath.Abs(filepath.Join(assets, string(APIServer)))
	if err != nil {
		return fmt.Errorf("cannot find %s in %s: %w", APIServer, assetsVariable, err)
	}
	return checkVersion(ctx, server)
}

func checkVersion(ctx context.Context, server string) error {
	expected, err := Version()
	if err != nil {
		return err
	}
	printed, err := exec.CommandContext(ctx, server, "--version").Output()
	if err != nil {
		return fmt.Errorf("cannot ask %s for its version: %w", server, err)
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(printed)), "Kubernetes ")
	if version != expected {
		return fmt.Errorf("%s is %s: %w, %s", server, version, ErrOtherVersion, expected)
	}
	return nil
}

// envtestFolder returns the folder where setup-envtest puts programs of this
// version by default; empty if the system has no such place. See
// https://pkg.go.dev/sigs.k8s.io/controller-runtime/tools/setup-envtest.
func envtestFolder() (string, error) {
	version, err := Version()
	if err != nil {
		return "", err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", nil //nolint:nilerr // without a home there is no such folder
	}
	base := filepath.Join(home, ".local", "share")
	if data := os.Getenv("XDG_DATA_HOME"); data != "" {
		base = data
	}
	store := filepath.Join(base, "kubebuilder-envtest")
	if runtime.GOOS == "darwin" {
		store = filepath.Join(home, "Library", "Application Support", "io.kubebuilder.envtest")
	}
	name := strings.TrimPrefix(version, "v") + "-" + runtime.GOOS + "-" + runtime.GOARCH
	return filepath.Join(store, "k8s", name), nil
}
