package port_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/internal/port"
)

func TestReserve(t *testing.T) {
	for name, test := range map[string]struct {
		sharing port.Sharing
		want    error
	}{
		"with who asks for it":                {sharing: port.ReuseAddress},
		"with who is told to ask another way": {sharing: port.ReusePort, want: syscall.EADDRINUSE},
	} {
		t.Run(name, func(t *testing.T) {
			reserved, err := port.Reserve(test.sharing)
			require.NoError(t, err)
			for range 2 { // for a server that is started again, too
				require.ErrorIs(t, listen(t, reserved.Address()), test.want)
			}
			reserved.Release()
			require.NoError(t, listen(t, reserved.Address()))
		})
	}
}

// listen listens at address for a moment.
func listen(t *testing.T, address string) error {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		return err
	}
	return listener.Close()
}
