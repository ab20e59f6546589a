package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A Supervisor is the client of a running supervisor.
type Supervisor struct {
	// Dir is the absolute path of the supervisor's folder.
	Dir string

	cmd      *exec.Cmd
	commands io.WriteCloser
	stderr   *bytes.Buffer
	exits    chan Exit
	answers  chan bool
	detached chan struct{}
	gone     chan struct{}
	stop     func() error

	sending    sync.Mutex
	signalling sync.Mutex
}

// ErrNotRunning is the error of signals to processes that do not run.
var ErrNotRunning = errors.New("not running")

// Launch starts the supervisor program at path. The folder dir is created if
// need be, and is removed when the supervisor ends; an empty dir stands for a
// fresh temporary folder.
func Launch(path, dir string) (*Supervisor, error) {
	cmd := exec.Command(path)
	if dir != "" {
		cmd.Args = append(cmd.Args, dir)
	}
	s := &Supervisor{
		cmd:      cmd,
		stderr:   &bytes.Buffer{},
		exits:    make(chan Exit),
		answers:  make(chan bool),
		detached: make(chan struct{}),
		gone:     make(chan struct{}),
	}
	s.stop = sync.OnceValue(s.end)
	cmd.Stderr = s.stderr
	// A session of its own: a terminal's Ctrl-C or hang-up ends the client, and thereby the
	// supervisor, in this order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	if s.commands, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("cannot connect the supervisor: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot connect the supervisor: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the supervisor: %w", err)
	}
	events := json.NewDecoder(out)
	var first event
	err = events.Decode(&first)
	s.Dir = first.Dir
	go s.listen(events)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot hear the supervisor: %w", err), s.Stop())
	}
	return s, nil
}

// listen forwards the supervisor's events until the supervisor is gone.
func (s *Supervisor) listen(events *json.Decoder) {
	defer close(s.exits)
	defer close(s.gone)
	for {
		var e event
		if events.Decode(&e) != nil {
			return
		}
		if e.Detached {
			close(s.detached)
		}
		if e.Exit != nil {
			s.exits <- *e.Exit
		}
		if e.Signalled != nil {
			s.answers <- *e.Signalled
		}
	}
}

// Exits yields each process that has ended by itself or could not be started, and is closed when
// the supervisor is gone. Callers must read until then.
func (s *Supervisor) Exits() <-chan Exit {
	return s.exits
}

// Start has the supervisor start p. That p could not be started is heard from
// Exits.
func (s *Supervisor) Start(p Process) error {
	return s.send(command{Start: &p})
}

func (s *Supervisor) send(c command) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if err := json.NewEncoder(s.commands).Encode(c); err != nil {
		return fmt.Errorf("cannot reach the supervisor: %w", err)
	}
	return nil
}

// Kill ends a process, stopped or not, and returns when the process is gone. Exits does not report
// this end.
func (s *Supervisor) Kill(name string) error {
	return s.signal(name, syscall.SIGKILL)
}

// Freeze stops a process, and returns when all threads have stopped, or, where the system cannot
// report that (see child_other.go), a moment later.
func (s *Supervisor) Freeze(name string) error {
	return s.signal(name, syscall.SIGSTOP)
}

// Resume has a stopped process go on.
func (s *Supervisor) Resume(name string) error {
	return s.signal(name, syscall.SIGCONT)
}

// signal returns when the signal has taken effect.
func (s *Supervisor) signal(name string, number syscall.Signal) error {
	s.signalling.Lock()
	defer s.signalling.Unlock()
	if err := s.send(command{Signal: &signalTo{Name: name, Number: number}}); err != nil {
		return err
	}
	select {
	case running := <-s.answers:
		if !running {
			return ErrNotRunning
		}
		return nil
	case <-s.gone:
		return errors.New("cannot hear the supervisor: it is gone")
	}
}

// Detach lets the supervisor outlive this process. From then on, the supervisor ends on SIGTERM
// only, and s must not be used any more.
func (s *Supervisor) Detach() error {
	if err := s.send(command{Detach: true}); err != nil {
		return err
	}
	select {
	case <-s.detached:
		go func() { _ = s.cmd.Wait() }() // should it end first, it must not stay as a zombie
		return nil
	case <-s.gone:
		return errors.New("cannot detach the supervisor: it is gone")
	}
}

// Stop ends the supervisor, and returns when its processes and its folder are gone. It may be
// called more than once. If the supervisor had ended before, Stop returns an error, but the folder
// is gone, too.
func (s *Supervisor) Stop() error {
	return s.stop()
}

func (s *Supervisor) end() error {
	// Close fails if the supervisor is gone, which Wait reports.
	_ = s.commands.Close()
	<-s.gone // it has been heard out, which Wait would cut short
	if err := s.cmd.Wait(); err != nil {
		err = fmt.Errorf("cannot rely on the supervisor: %w: %s", err, bytes.TrimSpace(s.stderr.Bytes()))
		return errors.Join(err, os.RemoveAll(s.Dir))
	}
	return nil
}
