//go:build !linux

package operator

import "syscall"

// childAttributes keep a Ctrl-C at the terminal from the operator. Nothing ends it
// here if the process that started it is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// awaitStop does not wait: a child stops a moment after the SIGSTOP.
func awaitStop(int) {}
