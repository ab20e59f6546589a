// Package operator installs one of the example operators in a local cluster and runs it as a
// separate process, with only the rights that config/default gives to the ServiceAccount.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/filelock"
)

// examples is the module that the operators are in.
const examples = "github.com/trueup-go/trueup/examples"

// An Operator is installed in a cluster. See Process for one that runs.
type Operator struct {
	// Name is the folder below examples.
	Name string
	// Dir is that folder's path.
	Dir string
	// Namespace and ServiceAccount are the names in config/default.
	Namespace, ServiceAccount string
	// Env lists additional environment variables as NAME=value.
	Env []string

	program    string
	kubeconfig string
}

// A Cluster is where an operator runs, such as a *cluster.Cluster.
type Cluster interface {
	// Dir is a folder for the operator's kubeconfig.
	Dir() string
	// ServiceAccount returns a configuration with only the rights of a ServiceAccount.
	ServiceAccount(ctx context.Context, namespace, name string) (*rest.Config, error)
}

// Install builds the operator called name, defines the custom kinds, applies config/default to the
// cluster, and gives the operator a token of the ServiceAccount.
func Install(ctx context.Context, c *cluster.Cluster, name string) (*Operator, error) {
	o, err := Build(ctx, c, name)
	if err != nil {
		return nil, err
	}
	// The first owner that the admission plugin meets may be the Deployment of config/default.
	if err := Define(ctx, c, name); err != nil {
		return nil, err
	}
	if err := o.deploy(ctx, c); err != nil {
		return nil, err
	}
	// A conversion webhook in config/default has a Service, and that of the process has an address.
	if err := Define(ctx, c, name); err != nil {
		return nil, err
	}
	return o, o.As(ctx, c, o.Namespace, o.ServiceAccount)
}

// Build builds the operator called name, for a cluster where the caller installs it. The kubeconfig
// is in the cluster's folder, so that both are removed together. The program is in the folder
// test/bin of the checkout, and is linked again only after a change of the source. Before Start,
// call As to set the operator's rights.
func Build(ctx context.Context, c Cluster, name string) (*Operator, error) {
	module, err := moduleDir(ctx)
	if err != nil {
		return nil, err
	}
	o := &Operator{
		Name:       name,
		Dir:        filepath.Join(module, name),
		kubeconfig: filepath.Join(c.Dir(), name+"-operator.kubeconfig"),
	}
	o.program, err = link(ctx, module, name)
	return o, err
}

// Of returns an operator that is built already: program, which connects to the cluster as the kubeconfig says.
func Of(program, kubeconfig string) *Operator {
	return &Operator{program: program, kubeconfig: kubeconfig}
}

// With returns a copy of the operator that runs another program, such as another build, with more environment variables
// as NAME=value. An empty program means the same one.
func (o *Operator) With(program string, env ...string) *Operator {
	other := *o
	other.program = cmp.Or(program, o.program)
	other.Env = slices.Concat(o.Env, env)
	return &other
}

// link returns the path of the operator's program. Several tests may ask at once.
func link(ctx context.Context, module, name string) (string, error) {
	bin := filepath.Join(filepath.Dir(module), "test", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", fmt.Errorf("cannot build %s: %w", name, err)
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(bin, name+".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Release()
	program := filepath.Join(bin, name)
	return program, relink(ctx, module, program, "./"+name+"/cmd")
}

// relink has the go command link pkg again in a separate folder if program is out of date. The
// program is therefore always complete, and a running copy is not overwritten.
func relink(ctx context.Context, module, program, pkg string) error {
	scratch := program + ".unfinished"
	if err := os.RemoveAll(scratch); err != nil {
		return fmt.Errorf("cannot remove an unfinished build: %w", err)
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return fmt.Errorf("cannot build %s: %w", pkg, err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	linked := filepath.Join(scratch, filepath.Base(program))
	if before, err := os.ReadFile(program); err == nil {
		if err := os.WriteFile(linked, before, 0o755); err != nil { //nolint:gosec // a program has to be executable
			return fmt.Errorf("cannot build %s: %w", pkg, err)
		}
	}
	if _, err := output(ctx, module, "go", "build", "-buildvcs=false", "-o", linked, pkg); err != nil {
		return err
	}
	return os.Rename(linked, program)
}

// As gives the operator a token of this ServiceAccount, with its rights.
func (o *Operator) As(ctx context.Context, c Cluster, namespace, serviceAccount string) error {
	o.Namespace, o.ServiceAccount = namespace, serviceAccount
	config, err := c.ServiceAccount(ctx, namespace, serviceAccount)
	if err != nil {
		return err
	}
	return cluster.WriteKubeconfig(o.kubeconfig, config)
}

// deploy applies config/default, which also names the ServiceAccount. The server accepts the
// manager's Deployment and its pod appears, but no containers run in such a cluster.
func (o *Operator) deploy(ctx context.Context, c *cluster.Cluster) error {
	kubectl, err := cluster.Kubectl(ctx)
	if err != nil {
		return err
	}
	applied, err := output(ctx, "", kubectl, "--kubeconfig", c.Kubeconfig(),
		"apply", "--server-side", "--output=name", "--kustomize", filepath.Join(o.Dir, "config", "default"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(applied) {
		kind, name, _ := strings.Cut(strings.TrimSpace(line), "/")
		switch kind {
		case "namespace":
			o.Namespace = name
		case "serviceaccount":
			o.ServiceAccount = name
		}
	}
	if o.Namespace == "" || o.ServiceAccount == "" {
		return fmt.Errorf("config/default of %s has no namespace or no ServiceAccount; it has: %s", o.Name, applied)
	}
	return nil
}

// Dir returns the folder of the operator called name.
func Dir(ctx context.Context, name string) (string, error) {
	module, err := moduleDir(ctx)
	return filepath.Join(module, name), err
}

func moduleDir(ctx context.Context) (string, error) {
	return output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", examples)
}

// User is whom the operator acts as.
func (o *Operator) User() string {
	return "system:serviceaccount:" + o.Namespace + ":" + o.ServiceAccount
}

// output runs a command and returns the printed text, without surrounding space. An error quotes
// the command's standard error.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.Output()
	if err != nil {
		text := fmt.Sprintf("%s %s", filepath.Base(program), strings.Join(args, " "))
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return "", fmt.Errorf("%s: %w: %s", text, err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("%s: %w", text, err)
	}
	return strings.TrimSpace(string(out)), nil
}
