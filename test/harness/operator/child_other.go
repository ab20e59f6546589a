//go:build !linux

package operator

import "syscall"

// childAttributes returns attributes that keep a Ctrl-C at the terminal from the operator. On this
// system, nothing ends the operator if the parent process is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// awaitStop does not wait: a child stops a moment after the SIGSTOP.
func awaitStop(int) {}
