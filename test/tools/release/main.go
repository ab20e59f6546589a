// Command release checks this checkout before a release: its version, the API and the CRDs against the last tag, the digests
// against every supported version of k8s.io/api, the licences of all dependencies, and known vulnerabilities. It prints a line for
// each check, and ends with exit code 1 if one fails.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, filepath.Join("..", "..", ".."), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A check returns its result in a few words. An error means that the checkout must not be released.
type check struct {
	name string
	run  func(context.Context, *release) (string, error)
}

var checks = []check{
	{"version", checkVersion},
	{"API", compareAPI},
	{"CRDs", compareDefinitions},
	{"digests", checkDigests},
	{"licences", checkLicences},
	{"vulnerabilities", findVulnerabilities},
}

// run carries out all checks on the checkout in the folder root. A check that fails does not stop the following ones.
func run(ctx context.Context, root string, out io.Writer) error {
	r, err := newRelease(ctx, root)
	if err != nil {
		return err
	}
	defer r.close()
	failed := 0
	for _, c := range checks {
		result, err := c.run(ctx, r)
		if err != nil {
			failed++
			result = "FAILED: " + err.Error()
		}
		fmt.Fprintf(out, "%s: %s\n", c.name, result)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}
