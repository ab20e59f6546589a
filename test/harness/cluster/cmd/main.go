// Command cmd starts and stops the user's local cluster.
//
//	go -C test run ./harness/cluster/cmd build        # builds its programs, which takes minutes the first time
//	go -C test run ./harness/cluster/cmd up           # starts it and prints the path of its kubeconfig
//	go -C test run ./harness/cluster/cmd up -storage  # the same, with storage
//	go -C test run ./harness/cluster/cmd down         # stops it
//	go -C test run ./harness/cluster/cmd kubectl      # prints the path of the matching kubectl
//
// Only these paths go to standard output.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

const usage = "usage: cluster build | up [-storage] | down | kubectl"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch strings.Join(args, " ") {
	case "build":
		return cluster.Build(ctx)
	case "up":
		return printed(cluster.Up(ctx))
	case "up -storage":
		return printed(cluster.Up(ctx, cluster.WithStorage()))
	case "kubectl":
		return printed(cluster.Kubectl(ctx))
	case "down":
		return cluster.Down(ctx)
	}
	return errors.New(usage)
}

func printed(path string, err error) error {
	if err == nil {
		fmt.Println(path)
	}
	return err
}
