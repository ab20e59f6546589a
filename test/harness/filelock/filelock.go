// Package filelock lets one process at a time do something.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// A Lock is held until its release or the end of the process.
type Lock struct {
	// File is the locked file. A child process that inherits this file holds the lock as well.
	File *os.File
}

// Acquire creates the file at path if necessary and waits until no one else holds its lock. The
// file stays: with a new file, two processes could hold the lock.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock: %w", err)
	}
	locked := make(chan error, 1)
	go func() { locked <- flock(file, syscall.LOCK_EX) }()
	select {
	case err := <-locked:
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", path, err), file.Close())
		}
		return &Lock{File: file}, nil
	case <-ctx.Done():
		// The waiting goroutine ends after the wait, and releases a lock that it got.
		go func() {
			_ = errors.Join(<-locked, file.Close())
		}()
		return nil, fmt.Errorf("cannot lock %s: %w", path, context.Cause(ctx))
	}
}

// Held reports whether some process, this one included, holds the lock of the
// file at path. A missing file is not locked.
func Held(path string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot open the lock: %w", err)
	}
	defer func() { _ = file.Close() }() // which also releases it
	err = flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	return false, nil
}

// Release lets the next one in.
func (l *Lock) Release() {
	_ = l.File.Close() // nothing was written to it
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
