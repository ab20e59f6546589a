package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trueup-go/trueup/test/harness/cluster/internal/binaries"
	"github.com/trueup-go/trueup/test/harness/cluster/internal/supervisor"
	"github.com/trueup-go/trueup/test/harness/pki"
	"github.com/trueup-go/trueup/test/harness/port"
)

// UserAgent is the user agent of the requests that this package makes by
// itself.
const UserAgent = "trueup-cluster"

// startLimit bounds the time to start a cluster, once its programs are built. Seconds are usual;
// the limit is for busy machines.
const startLimit = 3 * time.Minute

// A Cluster is a running control plane. Its methods may be called from several goroutines.
type Cluster struct {
	options    options
	programs   binaries.Paths
	stages     string // the path of kwok's stages
	supervisor *supervisor.Supervisor
	port       port.Port
	authority  *pki.Authority
	server     string
	config     *rest.Config
	clients    kubernetes.Interface

	// crash is set before crashed is closed.
	crash   error
	crashed chan struct{}
	stop    func() error

	faults  faults
	changes changes
}

// Start builds the missing programs, with a message on standard error, and starts a cluster. On
// return, all nodes are ready for pods, and the namespace default has its default objects.
//
// If a component ends before that, the error quotes the end of the component's log. The error of
// every failed start names a folder with all logs. Only this folder stays then, and nothing if ctx
// is cancelled.
//
// The cluster runs until Stop is called or this process ends; ctx only limits the start.
func Start(ctx context.Context, opts ...Option) (*Cluster, error) {
	return start(ctx, "", opts)
}

// start is Start with the cluster's folder; empty stands for a temporary one.
func start(ctx context.Context, dir string, opts []Option) (*Cluster, error) {
	chosen := newOptions(opts)
	programs, err := binaries.Build(ctx, os.Stderr, chosen.programs()...)
	if err != nil {
		return nil, err
	}
	stages, err := binaries.Stages(ctx)
	if err != nil {
		return nil, err
	}
	reserved, err := port.Reserve(port.ReusePort) // see apiServerFlags
	if err != nil {
		return nil, err
	}
	launched, err := supervisor.Launch(programs[binaries.Supervisor], dir)
	if err != nil {
		reserved.Release()
		return nil, err
	}
	c := &Cluster{
		options:    chosen,
		programs:   programs,
		stages:     stages,
		supervisor: launched,
		port:       reserved,
		crashed:    make(chan struct{}),
		faults:     faults{down: map[Component]bool{}},
	}
	c.stop = sync.OnceValue(c.end)
	go c.watch()
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
	defer cancel()
	if err := c.boot(ctx); err != nil {
		err = fmt.Errorf("cannot start the cluster: %w", err)
		if !errors.Is(ctx.Err(), context.Canceled) {
			err = errors.Join(err, c.keepLogs())
		}
		err = errors.Join(err, launched.Stop())
		reserved.Release()
		return nil, err
	}
	return c, nil
}

// boot brings everything up, in the order in which the components need each
// other.
func (c *Cluster) boot(ctx context.Context) error {
	if err := c.writeFiles(); err != nil {
		return err
	}
	if err := c.run(Etcd, APIServer); err != nil {
		return err
	}
	if err := c.until(ctx, "the API server", c.serverReady); err != nil {
		return err
	}
	if err := c.createNodes(ctx); err != nil {
		return err
	}
	if err := c.run(ControllerManager, Scheduler, Kwok); err != nil {
		return err
	}
	if c.options.storage {
		if err := c.startStorage(ctx); err != nil {
			return err
		}
	}
	if err := c.until(ctx, "the nodes", c.nodesReady); err != nil {
		return err
	}
	return c.until(ctx, "the namespace default", c.namespaceReady("default"))
}

func (c *Cluster) run(components ...Component) error {
	for _, component := range components {
		process, err := c.process(component)
		if err != nil {
			return err
		}
		if err := c.supervisor.Start(process); err != nil {
			return err
		}
	}
	return nil
}

// Config returns a configuration for an administrator, a member of system:masters, who may do
// everything. There is no client-side rate limit and no user agent. Each call returns a fresh copy.
func (c *Cluster) Config() *rest.Config {
	return rest.CopyConfig(c.config)
}

// Kubeconfig returns the path of a file with the content of Config.
func (c *Cluster) Kubeconfig() string {
	return filepath.Join(c.Dir(), kubeconfigFile)
}

// Dir is the folder that the cluster keeps everything in. The output of
// kube-apiserver, for one, is in logs/kube-apiserver.log.
func (c *Cluster) Dir() string {
	return c.supervisor.Dir
}

// Stop ends the cluster, frozen components included, and returns when all processes and the folder
// are gone. It may be called more than once. If a component has ended before, other than by
// [Cluster.Kill] or [Cluster.Restart], the error quotes the end of the component's log.
func (c *Cluster) Stop() error {
	return c.stop()
}

func (c *Cluster) end() error {
	err := c.supervisor.Stop()
	c.port.Release()
	<-c.crashed // by the supervisor's end, if by nothing else
	if errors.Is(c.crash, errSupervisorEnded) {
		return err // which says how
	}
	return errors.Join(c.crash, err)
}
