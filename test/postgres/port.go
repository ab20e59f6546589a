package postgres

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// port is a TCP port of 127.0.0.1 that nobody else is given, also while the server
// does not run: it is bound, but not listened at, by a socket that lets others bind it
// if they ask for this very port and set SO_REUSEADDR, as PostgreSQL does.
type port struct {
	number string
	socket int
}

func reservePort() (port, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return port{}, fmt.Errorf("cannot reserve a port: %w", err)
	}
	unix.CloseOnExec(socket)
	number, err := bindAny(socket)
	if err != nil {
		return port{}, errors.Join(fmt.Errorf("cannot reserve a port: %w", err), unix.Close(socket))
	}
	return port{number: strconv.Itoa(number), socket: socket}, nil
}

func bindAny(socket int) (int, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
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

func (p port) release() {
	_ = unix.Close(p.socket) // nothing was sent
}
