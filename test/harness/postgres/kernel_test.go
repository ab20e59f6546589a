package postgres_test

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Helpers that ask the kernel about the servers.

// listening are the addresses that somebody listens at, by socket as /proc/PID/fd names
// them.
func listening(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, fields := range lines(t, table) {
			if fields[3] == "0A" {
				found["socket:["+fields[9]+"]"] = address(t, fields[1])
			}
		}
	}
	for _, fields := range lines(t, "/proc/net/unix") {
		if accepts := fields[3] == "00010000"; accepts {
			found["socket:["+fields[6]+"]"] = "unix:" + strings.Join(fields[7:], " ")
		}
	}
	return found
}

// lines returns the fields of each line of a table, without its head.
func lines(t *testing.T, table string) [][]string {
	t.Helper()
	content, err := os.ReadFile(table)
	require.NoError(t, err)
	var found [][]string
	for line := range strings.Lines(string(content)) {
		found = append(found, strings.Fields(line))
	}
	return found[1:]
}

// address reads 0100007F:1538.
func address(t *testing.T, kernels string) string {
	t.Helper()
	host, port, _ := strings.Cut(kernels, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	require.NoError(t, err)
	ip, err := hex.DecodeString(host)
	require.NoError(t, err)
	slices.Reverse(ip)
	return net.JoinHostPort(net.IP(ip).String(), strconv.FormatUint(number, 10))
}

// sharedMemory is the id of the segment of the one server below dir.
func sharedMemory(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "data", "postmaster.pid"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	content, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var key, id string
	_, err = fmt.Sscan(strings.Split(string(content), "\n")[6], &key, &id)
	require.NoError(t, err)
	return id
}

func inUse(t *testing.T, memory string) bool {
	t.Helper()
	return slices.ContainsFunc(lines(t, "/proc/sysvipc/shm"), func(fields []string) bool { return fields[1] == memory })
}

// states counts processes by the letter of their state: T means stopped.
func states(t *testing.T, processes []int) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, pid := range processes {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(t, err)
		_, rest, _ := strings.Cut(string(content), ") ")
		found[rest[:1]]++
	}
	return found
}
