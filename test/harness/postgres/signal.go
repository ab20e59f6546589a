package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kill ends every process of the server at once. First the one that could start more.
func (i *instance) kill() error {
	if err := i.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-i.exited
	processes, err := i.processes()
	if err != nil {
		return err
	}
	if err := send(syscall.SIGKILL, processes); err != nil {
		return err
	}
	return i.freeSharedMemory()
}

// freeSharedMemory removes the shared memory segment by which a server guards its data. The segment
// outlives a killed server until the next start.
func (i *instance) freeSharedMemory() error {
	content, err := os.ReadFile(filepath.Join(i.dir, dataDir, pidFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was killed before it had one
	}
	if err != nil {
		return fmt.Errorf("cannot find the server's shared memory: %w", err)
	}
	lines := strings.Split(string(content), "\n")
	if len(lines) < segmentLine {
		return nil // as above
	}
	var key, segment int
	if _, err := fmt.Sscan(lines[segmentLine-1], &key, &segment); err != nil {
		return fmt.Errorf("cannot find the server's shared memory: %w", err)
	}
	_, err = unix.SysvShmCtl(segment, unix.IPC_RMID, nil)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) {
		return fmt.Errorf("cannot free the server's shared memory: %w", err)
	}
	return nil
}

// freeze stops every process of the server, beginning with the one that starts others, which may
// still start some for a moment after the signal.
func (i *instance) freeze() error {
	if err := i.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	untilHalted(i.postmaster.Process.Pid)
	processes, err := i.processes()
	if err != nil {
		return err
	}
	if err := send(syscall.SIGSTOP, processes); err != nil {
		return err
	}
	untilHalted(processes...)
	return nil
}

// untilHalted waits until the signalled processes have stopped. The kernel stops them at once,
// except processes that wait for a disk.
func untilHalted(processes ...int) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for slices.ContainsFunc(processes, moves) {
		<-ticker.C
	}
}

// moves reports whether a process is neither halted nor gone.
func moves(pid int) bool {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The state follows the program's name, which is in parentheses.
	_, state, _ := strings.Cut(string(content), ") ")
	return !strings.HasPrefix(state, "T") && !strings.HasPrefix(state, "Z")
}

// resume lets every process of the server go on.
func (i *instance) resume() error {
	processes, err := i.processes()
	if err != nil {
		return err
	}
	return send(syscall.SIGCONT, processes)
}

// signal sends a signal to the postmaster; one that has ended is no error.
func (i *instance) signal(s syscall.Signal) error {
	if err := i.postmaster.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot signal the server: %w", err)
	}
	return nil
}

// processes returns the processes that work in the data folder, as every process of a server does.
// The postmaster's group does not suffice: each process has a group of its own.
func (i *instance) processes() ([]int, error) {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(links) == 0 {
		return nil, errors.New("cannot list the server's processes: this takes /proc, as on Linux")
	}
	var found []int
	for _, link := range links {
		folder, err := os.Readlink(link)
		if err != nil || folder != filepath.Join(i.dir, dataDir) {
			continue // the process is gone, or another's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			return nil, fmt.Errorf("cannot list the server's processes: %w", err)
		}
		found = append(found, pid)
	}
	return found, nil
}

// send sends a signal to processes; processes that are gone are no error.
func send(s syscall.Signal, processes []int) error {
	for _, pid := range processes {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("cannot signal the server's process %d: %w", pid, err)
		}
	}
	return nil
}
