// Command cmd starts and stops the user's local PostgreSQL server.
//
//	eval "$(go -C test run ./harness/postgres/cmd up)"  # starts the server and sets the variables
//	go -C test run ./harness/postgres/cmd down          # stops the server and removes its data
//
// Only lines for the shell go to standard output.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/trueup-go/trueup/test/harness/postgres"
)

const usage = "usage: postgres up | down"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) != 1 {
		return errors.New(usage)
	}
	switch args[0] {
	case "up":
		return up(ctx)
	case "down":
		return postgres.Down(ctx)
	}
	return errors.New(usage)
}

// up prints values as they are: none of them means anything to a shell.
func up(ctx context.Context) error {
	variables, err := postgres.Up(ctx)
	if err != nil {
		return err
	}
	for _, variable := range variables {
		fmt.Println("export " + variable)
	}
	return nil
}
