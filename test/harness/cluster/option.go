package cluster

import (
	"github.com/trueup-go/trueup/test/harness/cluster/internal/binaries"
)

// An Option changes the cluster that [Start] starts.
type Option func(*options)

type options struct {
	nodes   int
	stages  []string
	flags   map[Component][]string
	storage bool
	kubectl bool
	kept    []Component
	// deletions is set by AuditDeletions.
	deletions bool
	// deleteNamespaces is set by DeleteNamespaces.
	deleteNamespaces bool
}

func newOptions(opts []Option) options {
	o := options{nodes: 2, flags: map[Component][]string{}}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// programs returns the programs that a cluster with these options runs.
func (o options) programs() []binaries.Program {
	programs := binaries.Cluster()
	if o.kubectl {
		programs = append(programs, binaries.Kubectl)
	}
	if o.storage {
		programs = append(programs, binaries.Storage()...)
	}
	return programs
}

// Nodes sets the number of nodes, 2 by default.
func Nodes(count int) Option {
	return func(o *options) { o.nodes = count }
}

// Stages adds kwok stages, YAML documents of kind Stage, to the stages of nodes and pods. Where
// several match an object, weight decides: the stages that make pods ready have none and those that
// hold pods have 1, so that a stage with `weight: 2` in its spec takes precedence.
func Stages(yaml string) Option {
	return func(o *options) { o.stages = append(o.stages, yaml) }
}

// Flags adds to the command line of a component. A flag given here wins over the same flag given by this package, unless
// its value is a list: then the lists are joined.
func Flags(component Component, flags ...string) Option {
	return func(o *options) { o.flags[component] = append(o.flags[component], flags...) }
}

// WithStorage adds storage: volumes that are created for claims and can grow, but store nothing.
// StorageDriver, Provisioner and Resizer run, whose programs are built on first use. There are two
// storage classes: expandable, the default, and fixed, whose claims cannot grow. Provisioner and
// Resizer may still be starting when Start returns. See package storage for the behaviour of
// volumes, and for failures.
func WithStorage() Option {
	return func(o *options) { o.storage = true }
}

// WithKubectl has [Start] build kubectl along with the programs of the cluster. That takes less
// time than a later build by [Kubectl].
func WithKubectl() Option {
	return func(o *options) { o.kubectl = true }
}

// DeleteNamespaces deletes the namespace of a test when the test ends, so that an operator that all tests of a package
// share does not reconcile what earlier tests left. The control plane sends hundreds of requests to delete a namespace:
// without such an operator, tests take less time if the namespaces stay.
func DeleteNamespaces() Option {
	return func(o *options) { o.deleteNamespaces = true }
}

// KeepRunning has components started again that end by themselves, as a kubelet does. Some components do so after faults
// of others: kube-scheduler ends when its cache contradicts the API server.
func KeepRunning(components ...Component) Option {
	return func(o *options) { o.kept = append(o.kept, components...) }
}
