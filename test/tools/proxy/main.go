// Command proxy makes a module proxy that has this checkout as the latest release of the library and of the command trueup, and
// prints the settings of the go command that use it, for a shell.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trueup-go/trueup/test/harness/moduleproxy"
	"github.com/trueup-go/trueup/test/harness/places"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := places.Repository()
	if err != nil {
		return err
	}
	cache, err := places.Cache()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "proxy")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if _, err := moduleproxy.Release(dir, root); err != nil {
		return err
	}
	next, err := exec.CommandContext(ctx, "go", "env", "GOPROXY").Output()
	if err != nil {
		return err
	}
	fmt.Printf("export GOPROXY='file://%s,%s' GONOSUMDB=%s\n", dir, strings.TrimSpace(string(next)), moduleproxy.Library)
	return nil
}
