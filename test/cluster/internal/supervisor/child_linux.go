package supervisor

import (
	"errors"
	"syscall"
)

// childAttributes put a process into a group of its own, which no Ctrl-C at a
// terminal reaches, and have the kernel kill it when the thread that started
// it ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitStop returns when all threads of a child that was sent a SIGSTOP have
// stopped, or when the child is gone.
func awaitStop(pid int) {
	const byPID = 1 // P_PID of waitid, which package syscall does not name
	// It only looks: a child that is stopped twice is seen to have stopped twice,
	// and the child's end is left to who waits for that.
	const look = syscall.WSTOPPED | syscall.WNOWAIT
	for {
		_, _, err := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), 0, look, 0, 0)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
