// Package port keeps TCP ports of 127.0.0.1 for programs that tests start. Picking a free
// port and letting go of it, the usual way, leaves it to whoever comes first; so would a
// server that is dead for a while.
package port

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// A Port is given to nobody else until it is released: it is bound, but not listened at, by a
// socket that shares it with whoever asks for this very port in the way that was agreed.
type Port struct {
	Number int
	socket int
}

// Sharing is what the program that is to listen sets on its socket, beside its port.
type Sharing int

const (
	// ReuseAddress is what net.Listen and PostgreSQL set.
	ReuseAddress Sharing = unix.SO_REUSEADDR
	// ReusePort is what some programs set when they are told to. net.Listen does not, and
	// cannot take such a port.
	ReusePort Sharing = unix.SO_REUSEPORT
)

// Reserve finds a port that nobody has, and keeps it until Release.
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

// Address is the port with its host, as net.Listen takes it.
func (p Port) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Release leaves the port to others. Who listens at it goes on.
func (p Port) Release() {
	_ = unix.Close(p.socket) // nothing was sent
}
