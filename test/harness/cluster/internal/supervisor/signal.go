package supervisor

import "syscall"

// signalTo is a signal for a process.
type signalTo struct {
	Name   string
	Number syscall.Signal
}

// signal sends a signal to a process, and answers when the signal has taken effect.
func (s *server) signal(to signalTo) {
	process, running := s.running[to.Name]
	if !running {
		s.tell(event{Signalled: new(false)})
		return
	}
	process.killed = to.Number == syscall.SIGKILL
	process.signal(to.Number)
	if process.killed {
		return // its end is the answer
	}
	if to.Number == syscall.SIGSTOP {
		awaitStop(process.cmd.Process.Pid)
	}
	s.tell(event{Signalled: new(true)})
}

// signal also reaches the child processes of the process.
func (c *child) signal(number syscall.Signal) {
	// A process that is gone already has nothing left to signal.
	_ = syscall.Kill(-c.cmd.Process.Pid, number)
}
