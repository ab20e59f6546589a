package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A supervisor is a small process that ends a server and removes the server's folder on request, or
// when the process that started the supervisor is gone.
type supervisor struct {
	// tie is inherited by every process of the server: the supervisor removes the folder when all of
	// them have closed tie.
	tie *os.File
	// orders takes one line per order: the id of the process to end, 0 for none, or leave. The end
	// of the file means that the owner is gone.
	orders *os.File

	cmd    *exec.Cmd
	stderr *bytes.Buffer
	clean  func() error
}

// cleaning is the supervisor's script. QUIT is an immediate shutdown, which takes milliseconds and, in
// contrast to a kill, leaves no shared memory behind. A frozen server has frozen children, and one that
// only tells a client that there are too many connections gets no signal from the server.
const cleaning = `
server=0
while read -r order; do
	[ "$order" != leave ] || exit 0
	server=$order
done
if [ "$server" -gt 0 ]; then
	kill -QUIT "$server"
	for folder in /proc/[0-9]*/cwd; do
		[ "$folder" -ef "$1/` + dataDir + `" ] || continue
		process=${folder%/cwd}
		kill -CONT "${process#/proc/}" 2>/dev/null
	done
fi
read -r _ <&3
exec rm -rf -- "$1"
`

// startSupervisor starts the supervisor of a folder.
func startSupervisor(dir string) (*supervisor, error) {
	tied, tie, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot connect the supervisor: %w", err)
	}
	heard, orders, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot connect the supervisor: %w", err), tied.Close(), tie.Close())
	}
	s := &supervisor{tie: tie, orders: orders, stderr: &bytes.Buffer{}}
	s.cmd = exec.Command("/bin/sh", "-c", cleaning, "supervisor", dir) //nolint:noctx // it outlives every context
	s.cmd.Stdin, s.cmd.Stderr, s.cmd.ExtraFiles = heard, s.stderr, []*os.File{tied}
	// A session of its own: a terminal's Ctrl-C or hang-up ends the owner, and thereby the server,
	// in this order.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.clean = sync.OnceValue(s.end)
	err = s.cmd.Start()
	err = errors.Join(err, heard.Close(), tied.Close()) // the supervisor has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the supervisor: %w", err), tie.Close(), orders.Close())
	}
	return s, nil
}

// announcing makes a process send its id to the supervisor before the process becomes the server, so
// that the server can never outlive the owner. The server must not hold orders open.
const announcing = `echo $$ >&3 && exec "$@" 3>&-`

// supervised is a command that runs the server supervised.
func (s *supervisor) supervised(program string, args ...string) *exec.Cmd {
	args = append([]string{"-c", announcing, "server", program}, args...)
	cmd := exec.Command("/bin/sh", args...) //nolint:noctx // the context is for the start alone
	cmd.ExtraFiles = []*os.File{s.orders, s.tie}
	return cmd
}

// ended informs the supervisor that the server has ended.
func (s *supervisor) ended() error {
	return s.order("0")
}

// leave ends the supervisor and keeps the server and the folder.
func (s *supervisor) leave() error {
	if err := s.order("leave"); err != nil {
		return err
	}
	return s.clean()
}

func (s *supervisor) order(order string) error {
	if _, err := fmt.Fprintln(s.orders, order); err != nil {
		return fmt.Errorf("cannot reach the supervisor: %w", err)
	}
	return nil
}

func (s *supervisor) end() error {
	err := errors.Join(s.orders.Close(), s.tie.Close())
	if waitErr := s.cmd.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("cannot rely on the supervisor: %w: %s", waitErr, bytes.TrimSpace(s.stderr.Bytes())))
	}
	return err
}
