package story

import (
	"context"
	"errors"
	"regexp"

	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// A mark is a point from which requests are counted.
type mark struct {
	log     cluster.Mark
	counted map[string]float64 // if there is no audit log
	err     error
}

func (s *story) mark(ctx context.Context) mark {
	switch {
	case s.Own != nil:
		return mark{log: s.Own.Mark()}
	case s.Process == nil:
		return mark{}
	}
	counted, err := operator.Metrics(ctx, s.Metrics)
	return mark{counted: counted, err: err}
}

// requestsSince counts the operator's requests since then by kind. With an audit log, these are all requests except events:
// each write has one, which is sent some time later. Otherwise, these are the requests that ensure sent for children.
func (s *story) requestsSince(ctx context.Context, then mark) (map[string]int, error) {
	if s.Own != nil {
		requests, err := s.Own.Requests(then.log, cluster.ByUser(s.Operator.User()), cluster.NoEvents)
		return cluster.Counts(requests), err
	}
	now := s.mark(ctx)
	if err := errors.Join(then.err, now.err); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for name, value := range now.counted {
		if series := requestsSeries.FindStringSubmatch(name); series != nil && value > then.counted[name] {
			counts[series[2]+" "+series[1]] += int(value - then.counted[name])
		}
	}
	return counts, nil
}

// requestsSeries is a time series of the metric of requests, with its kind and operation.
var requestsSeries = regexp.MustCompile(`^trueup_ensure_requests_total\{.*kind="(\w+)",operation="(\w+)"\}$`)

// sum returns how many requests were counted.
func sum(counts map[string]int) int {
	total := 0
	for _, count := range counts {
		total += count
	}
	return total
}
