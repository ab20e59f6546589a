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

	"github.com/trueup-go/trueup/test/cluster/internal/binaries"
	"github.com/trueup-go/trueup/test/cluster/internal/pki"
	"github.com/trueup-go/trueup/test/cluster/internal/supervisor"
	"github.com/trueup-go/trueup/test/internal/port"
)

// UserAgent is the user agent of the requests that this package makes by
// itself.
const UserAgent = "trueup-cluster"

// startLimit is how long a cluster may take to start, its programs being
// there. It takes seconds; the limit is for machines that do much else.
const startLimit = 3 * time.Minute

// Cluster is a running control plane. Its methods may be called from several
// goroutines.
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

// Start builds the programs that are missing, saying so on standard error, and
// starts a cluster. On return all nodes are ready to take pods, and the
// namespace default has what the controllers put into each.
//
// A component that ends before that is an error, which quotes the end of its
// log; and the error of every start that fails names a folder where all logs
// are kept. Only this folder stays then, and nothing when ctx is cancelled.
//
// The cluster lives until Stop is called or this process ends; ctx is for the
// start alone.
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

// Config connects as an administrator, a member of system:masters, whom
// nothing is forbidden. It sets no client-side rate limit and no user agent.
// Each call returns a fresh copy.
func (c *Cluster) Config() *rest.Config {
	return rest.CopyConfig(c.config)
}

// Kubeconfig is the path of a file that holds what Config returns.
func (c *Cluster) Kubeconfig() string {
	return filepath.Join(c.Dir(), kubeconfigFile)
}

// Dir is the folder that the cluster keeps everything in. The output of
// kube-apiserver, for one, is in logs/kube-apiserver.log.
func (c *Cluster) Dir() string {
	return c.supervisor.Dir
}

// Stop ends the cluster, frozen components included, and returns when its
// processes and its folder are gone. It may be called more than once. A
// component that had ended before, otherwise than by [Cluster.Kill] or
// [Cluster.Restart], is an error, which quotes the end of its log.
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
