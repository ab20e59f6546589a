package trial

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/trueup-go/trueup/test/harness/storage"
)

func volumeFaults() []choice {
	failing := func(code codes.Code) func(context.Context, *environment, lasting) error {
		return func(_ context.Context, e *environment, last lasting) error {
			failures := storage.Settings{Failures: []storage.Failure{{Code: code, Message: "no room"}}}
			return errors.Join(failures.Write(e.cluster.Dir()), last(), storage.Settings{}.Write(e.cluster.Dir()))
		}
	}
	return []choice{
		{"no room for larger volumes", 3 * time.Second, 12 * time.Second, failing(codes.OutOfRange)},
		{"resizer fails", 3 * time.Second, 12 * time.Second, failing(codes.Internal)},
	}
}
