package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/trueup-go/trueup/test/harness/cluster/internal/supervisor"
)

// interval is the polling interval: short compared with a start, and long compared with a request.
const interval = 50 * time.Millisecond

// tailSize is how much of a log an error quotes.
const tailSize = 4 << 10

var errSupervisorEnded = errors.New("the supervisor ended")

// watch notices the first component that ends by itself, unless the component is kept running.
func (c *Cluster) watch() {
	c.crash = errSupervisorEnded
	for exit := range c.supervisor.Exits() {
		if !c.startKept(Component(exit.Name)) {
			c.crash = fmt.Errorf("%s ended: %s; the end of its log:\n%s", exit.Name, exit.State, c.tail(exit.Name))
			break
		}
	}
	close(c.crashed)
	for range c.supervisor.Exits() { // the first says why; others follow from it
	}
}

// startKept starts a component of [KeepRunning] again, and reports whether the component is one.
func (c *Cluster) startKept(component Component) bool {
	if !slices.Contains(c.options.kept, component) {
		return false
	}
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	return c.run(component) == nil
}

// tail is the end of a component's log.
func (c *Cluster) tail(component string) []byte {
	content, err := os.ReadFile(c.log(component))
	if err != nil {
		return []byte(err.Error())
	}
	if len(content) <= tailSize {
		return content
	}
	content = content[len(content)-tailSize:]
	_, whole, _ := bytes.Cut(content, []byte("\n"))
	return whole
}

func (c *Cluster) log(component string) string {
	return filepath.Join(c.Dir(), supervisor.LogDir, component+".log")
}

// keepLogs copies the logs to a folder that outlives the cluster, and returns an error that names
// this folder.
func (c *Cluster) keepLogs() error {
	kept, err := os.MkdirTemp("", "trueup-logs-")
	if err == nil {
		err = os.CopyFS(kept, os.DirFS(filepath.Join(c.Dir(), supervisor.LogDir)))
	}
	if err != nil {
		return fmt.Errorf("cannot keep the logs: %w", err)
	}
	return errors.New("the components' logs are in " + kept)
}

// until waits until condition returns nil. When a component has ended or ctx is done, until returns
// the last error of condition.
func (c *Cluster) until(ctx context.Context, what string, condition func(context.Context) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		unmet := condition(ctx)
		if unmet == nil {
			return nil
		}
		select {
		case <-c.crashed:
			return c.crash
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for %s: %w; at last: %w", what, context.Cause(ctx), unmet)
		case <-ticker.C:
		}
	}
}
