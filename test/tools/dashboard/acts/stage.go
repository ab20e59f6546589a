package acts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	wordsv1alpha1 "github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/port"
	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

// operators maps the folders of the operators below examples to their jobs, which are named after
// the operators.
var operators = map[string]string{
	"application":     "application-operator",
	"reversewordsapp": "reverse-words-operator",
}

// stage is where everything takes place.
type stage struct {
	plan      Plan
	cluster   *cluster.Cluster
	admin     client.Client
	recording *record.Recording
	targets   []record.Target
	users     []string // whom the operators act as
	began     time.Time

	ends []func() error // the last to begin is the first to end
}

// open starts a cluster with the operators. They run without leader election, as an operator that
// cannot renew its lease ends, and its figures are lost.
func open(ctx context.Context, plan Plan) (*stage, error) {
	s := &stage{plan: plan, recording: record.New(plan.Interval)}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stage) begin(ctx context.Context) (err error) {
	if s.cluster, err = cluster.Start(ctx); err != nil {
		return err
	}
	s.ends = append(s.ends, s.cluster.Stop)
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), appv1alpha1.AddToScheme(scheme), wordsv1alpha1.AddToScheme(scheme))
	if err != nil {
		return err
	}
	config := s.cluster.Config()
	config.UserAgent, config.WarningHandlerWithContext = "people", rest.NoWarnings{}
	if s.admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return s.startOperators(ctx)
}

func (s *stage) startOperators(ctx context.Context) error {
	if err := operator.Define(ctx, s.cluster, "application", "reversewordsapp"); err != nil {
		return err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for folder, job := range operators {
		group.Go(func() error {
			installed, err := operator.Install(ctx, s.cluster, folder)
			if err != nil {
				return err
			}
			metrics, err := port.Reserve(port.ReuseAddress)
			if err != nil {
				return err
			}
			process, err := installed.Start(ctx, "--metrics-bind-address", metrics.Address())
			if err != nil {
				metrics.Release()
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			s.ends = append(s.ends, func() error { metrics.Release(); return nil }, process.Stop)
			s.users = append(s.users, installed.User())
			s.targets = append(s.targets, record.Target{URL: "http://" + metrics.Address() + "/metrics", Labels: map[string]string{
				"job": job, "namespace": installed.Namespace, "pod": job + "-0", "instance": job + ":8080",
			}})
			return nil
		})
	}
	return group.Wait()
}

func (s *stage) close() error {
	var errs []error
	for _, end := range slices.Backward(s.ends) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// now is the time since the recording began.
func (s *stage) now() time.Duration { return time.Since(s.began) }

// scrape asks every operator once each interval, until ctx is cancelled.
func (s *stage) scrape(ctx context.Context) error {
	ticker := time.NewTicker(s.plan.Interval)
	defer ticker.Stop()
	for {
		round := int(s.now() / s.plan.Interval)
		var samples []record.Sample
		for _, target := range s.targets {
			found, err := record.Scrape(ctx, target)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			samples = append(samples, found...)
		}
		s.recording.Add(round, samples)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// patience bounds every wait. Refused and contested writes are retried at growing intervals.
const patience = 3 * time.Minute

func (s *stage) until(ctx context.Context, try func(context.Context) error) error {
	return await.Until(ctx, patience, try)
}

// untilFigures waits until a query about the figures has a result.
func (s *stage) untilFigures(ctx context.Context, query string) error {
	return s.until(ctx, func(ctx context.Context) error {
		holds, err := s.recording.Holds(ctx, query)
		if err == nil && !holds {
			err = fmt.Errorf("the figures do not show: %s", query)
		}
		return err
	})
}

// rest pauses, so that the figures of one act do not mix with those of the next.
func (s *stage) rest(ctx context.Context) error { return pass(ctx, s.plan.Rest) }

func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
