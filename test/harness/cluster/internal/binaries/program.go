package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A module is a Go module of this repository that programs are built from.
type module struct {
	// name is the module's name in the cache.
	name string
	// dir is the module's folder, relative to the repository's root.
	dir string
	// version is the required module whose version becomes part of the name in
	// the cache; empty if there is none.
	version string
	// sources are patterns of the files, relative to dir, that determine the build.
	sources []string
	// flags are the linker flags of all programs. VERSION, MAJOR and MINOR stand
	// for the version.
	flags    string
	programs []program
}

// A program is a command of a module.
type program struct {
	name Program
	// pkg is the path of the command's package.
	pkg string
	// release is the required module whose version the program reports in its variable
	// main.version, or "" if the program has no such variable.
	release string
	// work is the time that two processors take to compile and link the program, once the packages
	// of the preceding programs are compiled.
	work time.Duration
}

// clusterModule holds all programs that share Kubernetes' packages, so that these
// are compiled once.
var clusterModule = module{
	name:    "cluster",
	dir:     "tools/cluster",
	version: "k8s.io/kubernetes",
	sources: []string{"go.mod", "go.sum"},
	// Without these the server reports version v0.0.0-master.
	flags: "-X k8s.io/component-base/version.gitVersion=VERSION" +
		" -X k8s.io/component-base/version.gitMajor=MAJOR" +
		" -X k8s.io/component-base/version.gitMinor=MINOR" +
		" -X k8s.io/client-go/pkg/version.gitVersion=VERSION" +
		" -X k8s.io/client-go/pkg/version.gitMajor=MAJOR" +
		" -X k8s.io/client-go/pkg/version.gitMinor=MINOR",
	programs: []program{
		{name: Etcd, pkg: "go.etcd.io/etcd/server/v3", work: 35 * time.Second},
		{name: APIServer, pkg: "k8s.io/kubernetes/cmd/kube-apiserver", work: 150 * time.Second},
		{name: ControllerManager, pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", work: 30 * time.Second},
		{name: Scheduler, pkg: "k8s.io/kubernetes/cmd/kube-scheduler", work: 8 * time.Second},
		{name: Kwok, pkg: kwokModule + "/cmd/kwok", work: 15 * time.Second},
		{name: Kubectl, pkg: "k8s.io/kubernetes/cmd/kubectl", work: 25 * time.Second},
		{name: Provisioner, pkg: provisionerModule + "/cmd/csi-provisioner", release: provisionerModule, work: 10 * time.Second},
		{name: Resizer, pkg: resizerModule + "/cmd/csi-resizer", release: resizerModule, work: 5 * time.Second},
	},
}

const (
	kwokModule        = "sigs.k8s.io/kwok"
	provisionerModule = "github.com/kubernetes-csi/external-provisioner/v6"
	resizerModule     = "github.com/kubernetes-csi/external-resizer/v2"
)

// modules are all modules, in the order in which they are built.
var modules = []module{
	{
		name: "supervisor",
		dir:  "test",
		sources: []string{
			"harness/cluster/internal/supervisor/*.go",
			"harness/cluster/internal/supervisor/cmd/*.go",
		},
		programs: []program{{name: Supervisor, pkg: "./harness/cluster/internal/supervisor/cmd"}},
	},
	clusterModule,
	{
		name: "storage",
		dir:  "test",
		sources: []string{
			"go.mod",
			"go.sum",
			"harness/storage/*.go",
			"harness/storage/cmd/*.go",
			"harness/storage/internal/driver/*.go",
		},
		programs: []program{{name: StorageDriver, pkg: "./harness/storage/cmd", work: 6 * time.Second}},
	},
}

// modulesWith returns the modules with the one of the server programs before the one of all others, which then
// builds only what is missing.
func modulesWith(server module) []module {
	if server.dir == clusterModule.dir {
		return modules
	}
	return append([]module{server}, modules...)
}

// named returns the module's programs that are among names.
func (m module) named(names []Program) []program {
	var found []program
	for _, p := range m.programs {
		if slices.Contains(names, p.name) {
			found = append(found, p)
		}
	}
	return found
}

// folder returns the name of the module's folder in the cache: the version, and a digest of
// everything that determines the build.
func (m module) folder(root string) (string, error) {
	digest := sha256.New()
	cgo, err := cgoEnabled()
	if err != nil {
		return "", err
	}
	fmt.Fprintln(digest, runtime.GOOS, runtime.GOARCH, runtime.Version(), cgo, m.flags)
	for _, p := range m.programs {
		fmt.Fprintln(digest, p.name, p.pkg, p.release)
	}
	dir := os.DirFS(filepath.Join(root, m.dir))
	for _, pattern := range m.sources {
		paths, err := fs.Glob(dir, pattern)
		if err != nil {
			return "", fmt.Errorf("cannot list the sources of %s: %w", m.name, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			content, err := fs.ReadFile(dir, path)
			if err != nil {
				return "", fmt.Errorf("cannot read the sources of %s: %w", m.name, err)
			}
			fmt.Fprintln(digest, path, len(content))
			digest.Write(content)
		}
	}
	name := m.name
	if m.version != "" {
		version, err := m.required(root, m.version)
		if err != nil {
			return "", err
		}
		name += "-" + version
	}
	return name + "-" + hex.EncodeToString(digest.Sum(nil))[:12], nil
}

// cgoEnabled returns whether the go command links programs with C libraries, which not every
// machine that shares the cache may have.
var cgoEnabled = sync.OnceValues(func() (string, error) {
	enabled, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err != nil {
		return "", fmt.Errorf("cannot run the go command: %w", err)
	}
	return strings.TrimSpace(string(enabled)), nil
})

// required returns the version of a module that this one requires.
func (m module) required(root, of string) (string, error) {
	path := filepath.Join(root, m.dir, "go.mod")
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the version of %s: %w", of, err)
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && fields[0] == of && fields[1] != "=>" {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("cannot find %s in %s", of, path)
}

// linkerFlags returns the arguments of go build that set the linker flags of the
// programs. They strip symbols, which only a debugger needs.
func (m module) linkerFlags(root string, programs []program) ([]string, error) {
	flags := "-s -w"
	if m.version != "" {
		version, err := m.required(root, m.version)
		if err != nil {
			return nil, err
		}
		major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		flags += " " + strings.NewReplacer("VERSION", version, "MAJOR", major, "MINOR", minor).Replace(m.flags)
	}
	args := []string{"-ldflags=" + flags}
	for _, p := range programs {
		if p.release == "" {
			continue
		}
		release, err := m.required(root, p.release)
		if err != nil {
			return nil, err
		}
		args = append(args, fmt.Sprintf("-ldflags=%s=%s -X main.version=%s", p.pkg, flags, release))
	}
	return args, nil
}

// majorVersion matches the last element of a package path if this element is only the major version
// of the module.
var majorVersion = regexp.MustCompile(`^v\d+$`)

// output returns the name of the file that go build makes of the program.
func (p program) output() string {
	name := path.Base(p.pkg)
	if majorVersion.MatchString(name) {
		name = path.Base(path.Dir(p.pkg))
	}
	return name
}
