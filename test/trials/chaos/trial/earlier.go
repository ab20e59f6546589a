package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trueup-go/trueup/test/harness/places"
)

// earlierCommit is the commit whose operators replace those of this checkout for a while, unless there is a tag. Its
// operators take the same flags, and its CRDs accept the same objects.
const earlierCommit = "68d1ece"

var errNoCommit = errors.New("the checkout has no earlier commit")

// Earlier builds the operators of the last tag, or of an earlier commit, and returns the folder of the programs and the
// commit. The programs stay in test/bin for later runs.
func Earlier(ctx context.Context, names []string) (dir, commit string, err error) {
	root, err := places.Repository()
	if err != nil {
		return "", "", err
	}
	if commit, err = output(ctx, root, "git", "describe", "--tags", "--abbrev=0"); err != nil {
		commit = earlierCommit
	}
	if commit, err = output(ctx, root, "git", "rev-parse", "--short", "--verify", commit+"^{commit}"); err != nil {
		return "", "", fmt.Errorf("%w: %w", errNoCommit, err)
	}
	dir = filepath.Join(root, "test", "bin", "earlier-"+commit)
	if _, err := os.Stat(dir); err == nil {
		return dir, commit, nil
	}
	source, err := os.MkdirTemp("", "trueup-earlier-")
	if err != nil {
		return "", "", err
	}
	defer func() { _ = os.RemoveAll(source) }()
	archive := filepath.Join(source, "source.tar")
	if _, err := output(ctx, root, "git", "archive", "--output="+archive, commit); err != nil {
		return "", "", err
	}
	if _, err := output(ctx, source, "tar", "-xf", archive); err != nil {
		return "", "", err
	}
	unfinished := dir + ".unfinished"
	defer func() { _ = os.RemoveAll(unfinished) }()
	if err := BuildOperators(ctx, source, unfinished, names); err != nil {
		return "", "", err
	}
	return dir, commit, os.Rename(unfinished, dir)
}

// BuildOperators builds the operators of a checkout into a folder.
func BuildOperators(ctx context.Context, checkout, dir string, names []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot create a folder: %w", err)
	}
	for _, name := range names {
		// Without paths, the build cache serves every copy of a checkout.
		_, err := output(ctx, filepath.Join(checkout, "examples"), "go", "build", "-trimpath", "-buildvcs=false",
			"-o", filepath.Join(dir, name), "./"+name+"/cmd")
		if err != nil {
			return err
		}
	}
	return nil
}

// output runs a command and returns the text that it prints.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	var problem strings.Builder
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
