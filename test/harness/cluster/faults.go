package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/trueup-go/trueup/test/harness/cluster/internal/supervisor"
)

// faults records the deliberate faults of components.
type faults struct {
	mu sync.Mutex
	// down are the dead or frozen components.
	down map[Component]bool
}

// Kill ends a component at once (SIGKILL), frozen or not, and returns when its process is gone.
// Stored data stays. Kill fails if the component does not run. [Cluster.Stop] does not report this
// end as an error.
//
// With StorageDriver, Provisioner and Resizer are killed, too: they end by themselves when they
// lose the driver.
func (c *Cluster) Kill(component Component) error {
	return c.inflict("kill", component, c.killAll, true)
}

// killAll ends a component, after its dependent components.
func (c *Cluster) killAll(name string) error {
	for _, dependent := range dependents(Component(name)) {
		if err := c.supervisor.Kill(string(dependent)); err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
			return err
		}
	}
	return c.supervisor.Kill(name)
}

// Freeze stops a component (SIGSTOP) and returns when all threads have stopped. Connections stay
// open, and requests wait. Freezing a component that does not run is an error; freezing a frozen
// component has no effect.
func (c *Cluster) Freeze(component Component) error {
	return c.inflict("freeze", component, c.supervisor.Freeze, true)
}

// Resume continues a frozen component (SIGCONT). Resuming a component that does not run is an
// error; resuming a running component has no effect.
func (c *Cluster) Resume(component Component) error {
	return c.inflict("resume", component, c.supervisor.Resume, false)
}

func (c *Cluster) inflict(verb string, component Component, do func(name string) error, down bool) error {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	if err := do(string(component)); err != nil {
		return fmt.Errorf("cannot %s %s: %w", verb, component, err)
	}
	c.faults.down[component] = down
	return nil
}

// Restart starts a component with its previous flags, port and data, and kills a
// running one first. It returns when the component works:
//
//   - Etcd and APIServer report that they are ready; after Etcd, the API server
//     does so, too, unless it is dead or frozen.
//   - Other components have handled an object that Restart creates for them and
//     deletes: a namespace for ControllerManager, a pod in the namespace default
//     for Scheduler and Kwok (without nodes Kwok has nothing to do), a claim there
//     for Provisioner, a claim and its volume for Resizer.
//   - StorageDriver listens, and Provisioner and Resizer, which are restarted, too,
//     do their work.
//
// Restart therefore needs a running Etcd for APIServer, a running APIServer for all
// others, and a running StorageDriver for Provisioner and Resizer.
//
// Clients reconnect by themselves to a restarted server, but at growing intervals:
// after 20 s without an API server, the informers of other components may need
// another minute, and after 75 s without Etcd, the API server may need 40 s,
// unless they are restarted, too.
//
// Restart fails if a component has ended by itself, now or earlier.
func (c *Cluster) Restart(ctx context.Context, component Component) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
	defer cancel()
	err := c.startAgain(component)
	if err == nil {
		err = c.atWork(ctx, component)
	}
	if err != nil {
		return fmt.Errorf("cannot restart %s: %w", component, err)
	}
	return nil
}

// RestartWith is [Cluster.Restart] with other flags: extra ones instead of those of [Flags]. Later restarts keep them.
func (c *Cluster) RestartWith(ctx context.Context, component Component, flags ...string) error {
	c.faults.mu.Lock()
	c.options.flags[component] = flags
	c.faults.mu.Unlock()
	return c.Restart(ctx, component)
}

func (c *Cluster) startAgain(component Component) error {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	select {
	case <-c.crashed:
		return c.crash
	default:
	}
	if err := c.killAll(string(component)); err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
		return err
	}
	if component == APIServer {
		if err := c.mendAuditLog(); err != nil {
			return err
		}
	}
	if err := c.run(component); err != nil {
		return err
	}
	c.faults.down[component] = false
	return nil
}

func (c *Cluster) isDown(component Component) bool {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	return c.faults.down[component]
}
