package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// module is a Go module of this repository that programs are built from.
type module struct {
	// name is how the cache calls it.
	name string
	// dir is its folder, from the repository's root.
	dir string
	// version is the module whose version names this one; empty if none does.
	version string
	// sources are the files, from dir, that decide what is built. A pattern
	// stands for all that match.
	sources []string
	// flags are the linker's; VERSION, MAJOR and MINOR stand for the version's.
	flags string
	// tested is whether tests are built from the same packages. Then it is built as they are: to
	// compile half of Kubernetes' client a second time takes minutes.
	tested bool
}

// program is a command of a module.
type program struct {
	module  module
	name    string
	pkg     string
	comment string
}

// aWhile is how long it takes, for people who watch.
const aWhile = "minutes, the first time"

var (
	kubernetesModule = module{
		name:    "kubernetes",
		dir:     "tools/kubernetes",
		version: "k8s.io/kubernetes",
		sources: []string{"go.mod", "go.sum"},
		// Without a stamp the server calls itself v0.0.0-master.
		flags: "-X k8s.io/component-base/version.gitVersion=VERSION" +
			" -X k8s.io/component-base/version.gitMajor=MAJOR" +
			" -X k8s.io/component-base/version.gitMinor=MINOR" +
			" -X k8s.io/client-go/pkg/version.gitVersion=VERSION" +
			" -X k8s.io/client-go/pkg/version.gitMajor=MAJOR" +
			" -X k8s.io/client-go/pkg/version.gitMinor=MINOR",
	}
	kwokModule = module{
		name:    "kwok",
		dir:     "tools/kwok",
		version: "sigs.k8s.io/kwok",
		sources: []string{"go.mod", "go.sum"},
	}
	supervisorModule = module{
		name: "supervisor",
		dir:  "test",
		sources: []string{
			"cluster/internal/supervisor/*.go",
			"cluster/internal/supervisor/cmd/*.go",
		},
	}

	provisionerModule = module{
		name:    "provisioner",
		dir:     "tools/provisioner",
		version: "github.com/kubernetes-csi/external-provisioner/v6",
		sources: []string{"go.mod", "go.sum"},
		flags:   "-X main.version=VERSION",
	}
	resizerModule = module{
		name:    "resizer",
		dir:     "tools/resizer",
		version: "github.com/kubernetes-csi/external-resizer/v2",
		sources: []string{"go.mod", "go.sum"},
		flags:   "-X main.version=VERSION",
	}
	storageModule = module{
		name: "storage",
		dir:  "test",
		sources: []string{
			"go.mod",
			"go.sum",
			"storage/*.go",
			"storage/cmd/*.go",
			"storage/internal/driver/*.go",
		},
		flags:  "-s -w",
		tested: true,
	}

	etcd              = program{kubernetesModule, "etcd", "go.etcd.io/etcd/server/v3", ""}
	apiServer         = program{kubernetesModule, "kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", aWhile}
	controllerManager = program{kubernetesModule, "kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", ""}
	scheduler         = program{kubernetesModule, "kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", ""}
	kubectl           = program{kubernetesModule, "kubectl", "k8s.io/kubernetes/cmd/kubectl", ""}
	kwok              = program{kwokModule, "kwok", "sigs.k8s.io/kwok/cmd/kwok", "about a minute, the first time"}
	supervisor        = program{supervisorModule, "supervisor", "./cluster/internal/supervisor/cmd", ""}

	storageDriver = program{storageModule, "csi-driver", "./storage/cmd", ""}
	provisioner   = program{provisionerModule, "csi-provisioner", provisionerModule.version + "/cmd/csi-provisioner", aWhile}
	resizer       = program{resizerModule, "csi-resizer", resizerModule.version + "/cmd/csi-resizer", aWhile}
)

// folder names the module's folder in the cache: its version, and a digest of
// all that decides what is built.
func (m module) folder(root string) (string, error) {
	digest := sha256.New()
	fmt.Fprintln(digest, runtime.GOOS, runtime.GOARCH, m.flags)
	for _, pattern := range m.sources {
		paths, err := filepath.Glob(filepath.Join(root, m.dir, pattern))
		if err != nil {
			return "", fmt.Errorf("cannot list the sources of %s: %w", m.name, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return "", fmt.Errorf("cannot read the sources of %s: %w", m.name, err)
			}
			fmt.Fprintln(digest, filepath.Base(path), len(content))
			digest.Write(content)
		}
	}
	name := m.name
	if m.version != "" {
		version, err := m.required(root)
		if err != nil {
			return "", err
		}
		name += "-" + version
	}
	return name + "-" + hex.EncodeToString(digest.Sum(nil))[:12], nil
}

// required is the version that the module requires of the one it is named after.
func (m module) required(root string) (string, error) {
	path := filepath.Join(root, m.dir, "go.mod")
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the version of %s: %w", m.name, err)
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && fields[0] == m.version && fields[1] != "=>" {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("cannot find %s in %s", m.version, path)
}

// linkerFlags are the module's flags for the given version, without symbols
// that only a debugger needs.
func (m module) linkerFlags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return "-s -w " + strings.NewReplacer("VERSION", version, "MAJOR", major, "MINOR", minor).Replace(m.flags)
}
