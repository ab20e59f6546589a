package operator

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes keep a Ctrl-C at the terminal from the operator, which ends when
// it is told to, and have the kernel end it if the process that started it is gone.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitStop returns when all threads of a child that was sent a SIGSTOP have stopped,
// or when the child is gone. It only looks: how the child ends is for others to hear.
func awaitStop(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}
