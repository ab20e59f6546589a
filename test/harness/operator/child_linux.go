package operator

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes returns attributes that keep a Ctrl-C at the terminal from the operator and have
// the kernel end the operator with the parent process. The operator ends on request.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitStop returns when all threads of a child that got a SIGSTOP have stopped, or when the child
// is gone. The caller still has to collect the exit status.
func awaitStop(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}
