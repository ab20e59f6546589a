package supervisor

import (
	"errors"
	"syscall"
)

// childAttributes returns attributes that put a process into a new group, which no Ctrl-C at a
// terminal reaches, and have the kernel kill the process when the starting thread ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitStop returns when all threads of a child that was sent a SIGSTOP have
// stopped, or when the child is gone.
func awaitStop(pid int) {
	const byPID = 1 // P_PID of waitid, which package syscall does not name
	// WNOWAIT leaves the state of the child unchanged: a stop can be seen twice, and the caller can
	// still collect the exit status.
	const look = syscall.WSTOPPED | syscall.WNOWAIT
	for {
		_, _, err := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), 0, look, 0, 0)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
