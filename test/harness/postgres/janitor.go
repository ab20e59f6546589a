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

// A janitor is a small process that ends a server and removes the server's folder on request, or
// when the process that started the janitor is gone.
type janitor struct {
	// tie is inherited by every process of the server: the janitor removes the folder when all of
	// them have closed tie.
	tie *os.File
	// orders takes one line per order: the id of the process to end, 0 for none, or leave. The end
	// of the file means that the owner is gone.
	orders *os.File

	cmd    *exec.Cmd
	stderr *bytes.Buffer
	clean  func() error
}

// cleaning is the janitor's script. QUIT is an immediate shutdown, which takes milliseconds and, in
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

// hireJanitor starts the janitor of a folder.
func hireJanitor(dir string) (*janitor, error) {
	tied, tie, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot connect the janitor: %w", err)
	}
	heard, orders, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot connect the janitor: %w", err), tied.Close(), tie.Close())
	}
	j := &janitor{tie: tie, orders: orders, stderr: &bytes.Buffer{}}
	j.cmd = exec.Command("/bin/sh", "-c", cleaning, "janitor", dir) //nolint:noctx // it outlives every context
	j.cmd.Stdin, j.cmd.Stderr, j.cmd.ExtraFiles = heard, j.stderr, []*os.File{tied}
	// A session of its own: a terminal's Ctrl-C or hang-up ends the owner, and thereby the server,
	// in this order.
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	j.clean = sync.OnceValue(j.end)
	err = j.cmd.Start()
	err = errors.Join(err, heard.Close(), tied.Close()) // the janitor has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the janitor: %w", err), tie.Close(), orders.Close())
	}
	return j, nil
}

// announcing makes a process send its id to the janitor before the process becomes the server, so
// that the server can never outlive the owner. The server must not hold orders open.
const announcing = `echo $$ >&3 && exec "$@" 3>&-`

// supervised is a command that runs the server under the janitor's eyes.
func (j *janitor) supervised(program string, args ...string) *exec.Cmd {
	args = append([]string{"-c", announcing, "server", program}, args...)
	cmd := exec.Command("/bin/sh", args...) //nolint:noctx // the context is for the start alone
	cmd.ExtraFiles = []*os.File{j.orders, j.tie}
	return cmd
}

// ended informs the janitor that the server has ended.
func (j *janitor) ended() error {
	return j.order("0")
}

// leave ends the janitor and keeps the server and the folder.
func (j *janitor) leave() error {
	if err := j.order("leave"); err != nil {
		return err
	}
	return j.clean()
}

func (j *janitor) order(order string) error {
	if _, err := fmt.Fprintln(j.orders, order); err != nil {
		return fmt.Errorf("cannot reach the janitor: %w", err)
	}
	return nil
}

func (j *janitor) end() error {
	err := errors.Join(j.orders.Close(), j.tie.Close())
	if waitErr := j.cmd.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("cannot rely on the janitor: %w: %s", waitErr, bytes.TrimSpace(j.stderr.Bytes())))
	}
	return err
}
