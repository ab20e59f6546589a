package port_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/trueup-go/trueup/test/harness/port"
)

// TestReserve shows that only a program with the agreed socket option gets the port, whether or not
// something has listened there before.
func TestReserve(t *testing.T) {
	plain, told := &net.ListenConfig{}, &net.ListenConfig{Control: reusePort}
	for name, test := range map[string]struct {
		sharing port.Sharing
		plain   error
	}{
		"for any server":             {sharing: port.ReuseAddress},
		"for one that is told about": {sharing: port.ReusePort, plain: syscall.EADDRINUSE},
	} {
		t.Run(name, func(t *testing.T) {
			reserved, err := port.Reserve(test.sharing)
			require.NoError(t, err)
			defer reserved.Release()
			other, err := port.Reserve(test.sharing)
			require.NoError(t, err)
			defer other.Release()
			require.NotEqual(t, reserved.Number, other.Number)
			for range 2 {
				require.ErrorIs(t, listen(t, plain, reserved), test.plain)
				require.NoError(t, listen(t, told, reserved))
			}
		})
	}
}

// listen listens at a port for a moment.
func listen(t *testing.T, config *net.ListenConfig, at port.Port) error {
	t.Helper()
	listener, err := config.Listen(t.Context(), "tcp", at.Address())
	if err != nil {
		return err
	}
	return listener.Close()
}

func reusePort(_, _ string, socket syscall.RawConn) error {
	var err error
	controlErr := socket.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	if controlErr != nil {
		return controlErr
	}
	return err
}
