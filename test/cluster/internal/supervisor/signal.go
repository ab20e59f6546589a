package supervisor

import "syscall"

// signalTo is a signal for a process.
type signalTo struct {
	Name   string
	Number syscall.Signal
}

// signal passes a signal on, and answers when it has had its effect.
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

// signal reaches what the process has started, too.
func (c *child) signal(number syscall.Signal) {
	// A process that is gone already has nothing left to signal.
	_ = syscall.Kill(-c.cmd.Process.Pid, number)
}
