package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/trueup-go/trueup/test/harness/filelock"
	"github.com/trueup-go/trueup/test/harness/places"
)

// local describes the user's local server.
type local struct {
	Dir         string
	Environment []string
}

// Up starts the user's single local server if it is down, and returns the variables that name its
// database: see [Server.Environment]. The server outlives this process, until [Down]. The options
// have no effect on a running server. A server that the environment names is ignored.
func Up(ctx context.Context, opts ...Option) ([]string, error) {
	file, lock, err := lockLocal(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	known, up, err := readLocal(file)
	if err != nil {
		return nil, err
	}
	if up {
		return known.Environment, nil
	}
	if err := forget(file, known); err != nil {
		return nil, err
	}
	s, err := startOwn(ctx, newOptions(opts))
	if err != nil {
		return nil, err
	}
	if err := s.detach(file); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s.Environment(), nil
}

// detach keeps the server running when this process ends, and writes a description of the server to
// a file. Afterwards, s must not be used any more.
func (s *Server) detach(file string) error {
	content, err := json.Marshal(local{Dir: s.own.dir, Environment: s.Environment()})
	if err != nil {
		return fmt.Errorf("cannot describe the local server: %w", err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return fmt.Errorf("cannot describe the local server: %w", err)
	}
	s.own.port.Release()
	return s.own.supervisor.leave()
}

// Down ends the user's local server, and returns when all processes and the folder are gone. Down
// returns nil if the server is down already.
func Down(ctx context.Context) error {
	file, lock, err := lockLocal(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	known, up, err := readLocal(file)
	if err != nil {
		return err
	}
	if up {
		if err := shutDown(ctx, known.Dir); err != nil {
			return err
		}
	}
	return forget(file, known)
}

// lockLocal returns the file that describes the local server, and keeps other processes from
// starting or ending the server.
func lockLocal(ctx context.Context) (string, *filelock.Lock, error) {
	cache, err := places.Cache()
	if err != nil {
		return "", nil, err
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(cache, "postgres.lock"))
	if err != nil {
		return "", nil, err
	}
	return filepath.Join(cache, "postgres.json"), lock, nil
}

// readLocal returns the description of the local server, and whether the server is up.
func readLocal(file string) (known local, up bool, err error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return local{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &known)
	}
	if err != nil {
		return local{}, false, fmt.Errorf("cannot read about the local server: %w", err)
	}
	up, err = filelock.Held(filepath.Join(known.Dir, lockFile))
	return known, up, err
}

// forget removes the files of a local server that is down.
func forget(file string, known local) error {
	if known.Dir == "" {
		return nil
	}
	if err := os.RemoveAll(known.Dir); err != nil {
		return fmt.Errorf("cannot remove the local server's folder: %w", err)
	}
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("cannot forget the local server: %w", err)
	}
	return nil
}

// shutDown ends the server of a folder, and waits for the end of the last process.
func shutDown(ctx context.Context, dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, dataDir, pidFile))
	if err != nil {
		return fmt.Errorf("cannot read the server's process id: %w", err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return fmt.Errorf("cannot read the server's process id: %w", err)
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot end the server, process %d: %w", pid, err)
	}
	gone, err := filelock.Acquire(ctx, filepath.Join(dir, lockFile))
	if err != nil {
		return err
	}
	gone.Release()
	return nil
}
