package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// noTag is the result of a comparison with the last release if there is none.
const noTag = "nothing to compare with, as there is no tag v* yet"

// A release is a checkout, and a checkout of the last release beside it.
type release struct {
	root string
	tag  string // the newest tag v* before HEAD; empty if there is none
	// previous is the folder with the checkout of tag.
	previous string
}

// newRelease finds the last tag, and checks it out into a temporary folder.
func newRelease(ctx context.Context, root string) (*release, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r := &release{root: root}
	tags, err := output(ctx, root, "git", "tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname")
	if err != nil {
		return nil, err
	}
	r.tag, _, _ = strings.Cut(tags, "\n")
	if r.tag == "" {
		return r, nil
	}
	if r.previous, err = os.MkdirTemp("", "trueup-release-"); err != nil {
		return nil, err
	}
	if _, err := output(ctx, root, "git", "clone", "--quiet", "--shared", "--branch", r.tag, root, r.previous); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// close removes the checkout of the last release.
func (r *release) close() {
	if r.previous != "" {
		_ = os.RemoveAll(r.previous) // a temporary folder
	}
}

// output runs a command in a folder and returns what it prints.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var errors strings.Builder
	cmd.Stderr = &errors
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run %s %s: %w\n%s%s", name, strings.Join(args, " "), err, text, errors.String())
	}
	return string(text), nil
}
