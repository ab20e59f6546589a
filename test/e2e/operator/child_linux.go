package operator

import "syscall"

// childAttributes keep a Ctrl-C at the terminal from the operator, which ends when
// it is told to, and have the kernel end it if the process that started it is gone.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
