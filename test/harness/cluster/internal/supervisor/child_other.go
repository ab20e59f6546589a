//go:build !linux

package supervisor

import "syscall"

// childAttributes returns attributes that put a process into a new group, which no Ctrl-C at a
// terminal reaches.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// awaitStop does not wait: a child stops a moment after the SIGSTOP.
func awaitStop(int) {}
