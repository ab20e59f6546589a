package supervisor

import "syscall"

// childAttributes put a process into a group of its own, which no Ctrl-C at a
// terminal reaches, and have the kernel kill it when the thread that started
// it ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
