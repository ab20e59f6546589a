package cluster

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// port is a TCP port of 127.0.0.1 that nobody else is given: it is bound, but
// not listened at, by a socket that shares it with the one process that is told
// to share it. Picking a free port and letting go of it, the usual way, leaves
// it to whoever comes first; so would an API server that is dead for a while.
type port struct {
	number int
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
	return port{number: number, socket: socket}, nil
}

func bindAny(socket int) (int, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
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
