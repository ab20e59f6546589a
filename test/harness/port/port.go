// Package port reserves TCP ports of 127.0.0.1 for programs that tests start. The usual way, to
// pick a free port and release it, lets another program take the port; so does a server that is
// down for a while.
package port

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// A Port is reserved until Release: a socket is bound to the port without listening, and shares the
// port only with programs that ask for this port with the agreed socket option.
type Port struct {
	Number int
	socket int
}

// Sharing is the socket option that the listening program sets.
type Sharing int

const (
	// ReuseAddress is the option of net.Listen and PostgreSQL.
	ReuseAddress Sharing = unix.SO_REUSEADDR
	// ReusePort is an option that some programs can set. net.Listen does not, and cannot use such a
	// port.
	ReusePort Sharing = unix.SO_REUSEPORT
)

// Reserve finds a free port and reserves it until Release.
func Reserve(sharing Sharing) (Port, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return Port{}, fmt.Errorf("cannot reserve a port: %w", err)
	}
	unix.CloseOnExec(socket)
	number, err := bindAny(socket, sharing)
	if err != nil {
		return Port{}, errors.Join(fmt.Errorf("cannot reserve a port: %w", err), unix.Close(socket))
	}
	return Port{Number: number, socket: socket}, nil
}

func bindAny(socket int, sharing Sharing) (int, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, int(sharing), 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	address, err := unix.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	return address.(*unix.SockaddrInet4).Port, nil
}

// Address returns host and port for net.Listen.
func (p Port) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Release ends the reservation. A program that listens at the port is not affected.
func (p Port) Release() {
	_ = unix.Close(p.socket) // nothing was sent
}
