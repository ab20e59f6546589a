// Command cmd is the supervisor of a test cluster: see package supervisor. Package cluster builds
// and starts it. Its one, optional argument is the folder to work in and to remove.
package main

import (
	"fmt"
	"os"

	"github.com/trueup-go/trueup/test/harness/cluster/internal/supervisor"
)

func main() {
	dir := ""
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := supervisor.Serve(dir, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
