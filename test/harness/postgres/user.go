package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// serverUser is whom the server runs as: nil stands for the user of this process, who
// may be anyone but root.
func serverUser() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // as exec.Cmd takes it
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		found, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot run PostgreSQL as root, nor find the user postgres or nobody: %w", err)
	}
	uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return nil, fmt.Errorf("cannot run PostgreSQL as %s: %w", found.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// makeFolder creates the server's folder in the folder for temporary files, accessible to its user
// alone.
func makeFolder(as *syscall.Credential) (string, error) {
	parent, err := filepath.EvalSymlinks(os.TempDir()) // the kernel's name of it
	if err != nil {
		return "", fmt.Errorf("cannot find the folder for temporary files: %w", err)
	}
	if as != nil {
		if err := passable(parent); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(parent, "trueup-postgres-")
	if err != nil {
		return "", fmt.Errorf("cannot create the server's folder: %w", err)
	}
	if as == nil {
		return dir, nil
	}
	if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
		return "", errors.Join(fmt.Errorf("cannot hand the server its folder: %w", err), os.Remove(dir))
	}
	return dir, nil
}

// passable returns an error if other users cannot access the content of a folder. The server's own
// error would only say that it cannot be started.
func passable(folder string) error {
	for {
		info, err := os.Stat(folder)
		if err != nil {
			return fmt.Errorf("cannot look at a folder above the server's: %w", err)
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("no user but root may pass through %s: set TMPDIR to a folder that all may", folder)
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
		folder = filepath.Dir(folder)
	}
}
