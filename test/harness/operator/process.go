package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trueup-go/trueup/test/harness/await"
)

const (
	// startLimit bounds the time until an operator answers on /readyz and reconciles. A second is
	// usual; the limit is for busy machines.
	startLimit = 90 * time.Second
	// stopLimit bounds the time until an operator ends after a SIGTERM. The operator itself gives
	// up after half a minute.
	stopLimit = time.Minute
)

// A Process is an operator that runs.
type Process struct {
	log    log
	signal func(os.Signal) error
	pid    int
	killed atomic.Bool   // by Kill
	exited chan struct{} // closed when it has ended
	err    error         // set before exited is closed
}

// Start runs the operator with free ports, a log of every reconcile, and args. It returns once the
// operator is ready and reconciles. The operator ends at the latest when this process ends.
func (o *Operator) Start(ctx context.Context, args ...string) (*Process, error) {
	p, err := o.Run(args...)
	if err != nil {
		return nil, err
	}
	if err := p.waitUntilReady(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Run starts the operator like Start and does not wait.
func (o *Operator) Run(args ...string) (*Process, error) {
	command := exec.Command(o.program, append([]string{ //nolint:noctx // it outlives whoever starts it; Stop ends it
		"--metrics-bind-address=127.0.0.1:0",
		"--health-probe-bind-address=127.0.0.1:0",
		"--zap-log-level=5",
		"--zap-time-encoding=rfc3339nano",
	}, args...)...)
	command.Env = slices.Concat(withoutOurs(os.Environ()), []string{"KUBECONFIG=" + o.kubeconfig}, o.Env)
	command.SysProcAttr = childAttributes()
	p := &Process{exited: make(chan struct{})}
	command.Stdout, command.Stderr = &p.log, &p.log

	started := make(chan error)
	go func() {
		// The kernel ends the process when the thread that started the process ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			p.err = command.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start the operator: %w", err)
	}
	p.signal, p.pid = command.Process.Signal, command.Process.Pid
	return p, nil
}

// withoutOurs removes the variables of the tests that must not reach the operator.
func withoutOurs(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		return strings.HasPrefix(variable, "KUBECONFIG=") || strings.HasPrefix(variable, "WATCH_NAMESPACE=")
	})
}

func (p *Process) waitUntilReady(ctx context.Context) error {
	return await.Until(ctx, startLimit, func(ctx context.Context) error {
		select {
		case <-p.exited:
			return await.Final(fmt.Errorf("the operator ended with %q; its log:\n%s", p.Exit(), p.Log()))
		default:
		}
		if code, err := p.Probe(ctx, "/readyz"); err != nil || code != http.StatusOK {
			return fmt.Errorf("the operator is not ready: %d, %w; its log:\n%s", code, err, p.Log())
		}
		if len(p.Entries("Starting workers")) == 0 {
			return fmt.Errorf("the operator does not reconcile; its log:\n%s", p.Log())
		}
		return nil
	})
}

// Probe asks the health server for path and returns the status code.
func (p *Process) Probe(ctx context.Context, path string) (int, error) {
	for _, entry := range p.Entries("starting server") {
		if entry.Text("name") != "health probe" {
			continue
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+entry.Text("addr")+path, http.NoBody)
		if err != nil {
			return 0, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	return 0, errors.New("it has not said where its health server listens")
}

// Stop asks the process to end, resuming a frozen process, and waits for the end. An end other than
// with exit code 0 or by Kill is an error.
func (p *Process) Stop() error {
	_ = p.signal(syscall.SIGTERM) // it may have ended
	_ = p.signal(syscall.SIGCONT)
	select {
	case <-p.exited:
	case <-time.After(stopLimit):
		_ = p.signal(os.Kill)
		<-p.exited
		return fmt.Errorf("the operator did not end within %s of a SIGTERM; its log:\n%s", stopLimit, p.Log())
	}
	return p.outcome()
}

// Kill ends the process at once (SIGKILL), frozen or not, and waits for the end. An earlier end
// with an exit code other than 0 is an error.
func (p *Process) Kill() error {
	p.killed.Store(true)
	_ = p.signal(syscall.SIGKILL) // it may have ended
	<-p.exited
	return p.outcome()
}

// Freeze stops the process (SIGSTOP) and returns when all threads have stopped. Connections stay
// open. Freezing an ended process is an error; freezing a frozen process has no effect.
func (p *Process) Freeze() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("cannot freeze the operator: %w", err)
	}
	awaitStop(p.pid)
	return nil
}

// Resume continues a frozen process (SIGCONT). Resuming an ended process is an error; resuming a
// running process has no effect.
func (p *Process) Resume() error {
	if err := p.signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("cannot resume the operator: %w", err)
	}
	return nil
}

// outcome is an error if the process ended badly.
func (p *Process) outcome() error {
	if p.err == nil || p.killed.Load() && p.Exit() == "signal: killed" {
		return nil
	}
	return fmt.Errorf("the operator ended with %w; its log:\n%s", p.err, p.Log())
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit describes the end of an ended process: exit status 0, exit status 1, signal: killed. Exit
// must not be called before.
func (p *Process) Exit() string {
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}
