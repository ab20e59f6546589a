package trial

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/port"
)

// restartPause is the time until an operator that has ended is started again, as a kubelet does.
const restartPause = time.Second

// An instance keeps an operator running until it is stopped.
type instance struct {
	args     []string
	metrics  port.Port
	findings *findings

	mu       sync.Mutex
	operator *operator.Operator
	process  *operator.Process // nil when none runs
	logs     []string          // of earlier processes
	stopped  chan struct{}     // closed by stop
	done     chan struct{}     // closed when the last process has ended
}

// newInstance returns an instance that does not run.
func newInstance(o *operator.Operator, found *findings, args ...string) (*instance, error) {
	reserved, err := port.Reserve(port.ReuseAddress)
	if err != nil {
		return nil, err
	}
	args = slices.Concat(args, []string{"--metrics-bind-address=" + reserved.Address(), "--zap-log-level=info"})
	return &instance{operator: o, args: args, metrics: reserved, findings: found}, nil
}

// start starts the operator, and starts it again when it ends.
func (i *instance) start() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stopped, i.done = make(chan struct{}), make(chan struct{})
	go i.keepRunning(i.operator, i.stopped, i.done)
}

func (i *instance) keepRunning(o *operator.Operator, stopped, done chan struct{}) {
	defer close(done)
	for {
		process, err := o.Run(i.args...)
		if err != nil {
			i.findings.add("%s does not start: %v", o.Name, err)
			return
		}
		i.set(process)
		select {
		case <-process.Exited():
		case <-stopped:
			i.end(o, process)
			return
		}
		i.end(o, process)
		select {
		case <-time.After(restartPause):
		case <-stopped:
			return
		}
	}
}

func (i *instance) set(process *operator.Process) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.process = process
}

// end stops the process if it runs, and keeps its log. A panic is a finding.
func (i *instance) end(o *operator.Operator, process *operator.Process) {
	_ = process.Stop() // an operator that loses its lease ends with an error
	if process.Exit() == "exit status 2" {
		i.findings.add("%s panicked: %s", o.Name, lastLines(process.Log(), 20))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.process, i.logs = nil, append(i.logs, process.Log())
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// stop stops the operator as Kubernetes does. It has no effect on an instance that does not run.
func (i *instance) stop() {
	i.mu.Lock()
	stopped, done := i.stopped, i.done
	i.stopped = nil
	i.mu.Unlock()
	if stopped != nil {
		close(stopped)
		<-done
	}
}

// replace runs another operator from now on.
func (i *instance) replace(o *operator.Operator) {
	i.stop()
	i.mu.Lock()
	i.operator = o
	i.mu.Unlock()
	i.start()
}

// kill kills the operator, which is started again.
func (i *instance) kill() {
	if process := i.running(); process != nil {
		_ = process.Kill() // it may have ended before
	}
}

// freeze halts the operator, if it runs, and returns a function that resumes it.
func (i *instance) freeze() (resume func() error, err error) {
	process := i.running()
	if process == nil {
		return func() error { return nil }, nil
	}
	if err := process.Freeze(); err != nil {
		return func() error { return nil }, i.unlessEnded(process, err)
	}
	return func() error { return i.unlessEnded(process, process.Resume()) }, nil
}

func (i *instance) unlessEnded(process *operator.Process, err error) error {
	select {
	case <-process.Exited():
		return nil
	default:
		return err
	}
}

func (i *instance) running() *operator.Process {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.process
}

// starts returns how often the operator has started.
func (i *instance) starts() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.logs)
}

// ready returns nil once the operator reconciles.
func (i *instance) ready() error {
	process := i.running()
	if process == nil || len(process.Entries("Starting workers")) == 0 {
		return errors.New("the operator " + i.operator.Name + " does not reconcile yet")
	}
	return nil
}

// writeLogs writes the logs of all processes.
func (i *instance) writeLogs(out io.Writer) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	logs := i.logs
	if i.process != nil {
		logs = append(slices.Clip(logs), i.process.Log())
	}
	for _, text := range logs {
		if _, err := fmt.Fprintf(out, "%s\n----\n", text); err != nil {
			return err
		}
	}
	return nil
}
