// Command trueup writes operators that use trueup into projects, also as a plugin of kubebuilder, and explains who owns which
// fields of an object in a cluster.
package main

import (
	"fmt"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
)

func main() {
	klog.SetLogger(klog.Logger{}) // discards: client-go would log the errors that Execute returns
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if err := newCommand(os.Args[0], streams).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
