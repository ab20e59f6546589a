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

// environment is the cluster with the operators, and the recording.
type environment struct {
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
func open(ctx context.Context, plan Plan) (*environment, error) {
	e := &environment{plan: plan, recording: record.New(plan.Interval)}
	if err := e.begin(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *environment) begin(ctx context.Context) (err error) {
	if e.cluster, err = cluster.Start(ctx); err != nil {
		return err
	}
	e.ends = append(e.ends, e.cluster.Stop)
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), appv1alpha1.AddToScheme(scheme), wordsv1alpha1.AddToScheme(scheme))
	if err != nil {
		return err
	}
	config := e.cluster.Config()
	config.UserAgent, config.WarningHandlerWithContext = "people", rest.NoWarnings{}
	if e.admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return e.startOperators(ctx)
}

func (e *environment) startOperators(ctx context.Context) error {
	if err := operator.Define(ctx, e.cluster, "application", "reversewordsapp"); err != nil {
		return err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for folder, job := range operators {
		group.Go(func() error {
			installed, err := operator.Install(ctx, e.cluster, folder)
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
			e.ends = append(e.ends, func() error { metrics.Release(); return nil }, process.Stop)
			e.users = append(e.users, installed.User())
			e.targets = append(e.targets, record.Target{URL: "http://" + metrics.Address() + "/metrics", Labels: map[string]string{
				"job": job, "namespace": installed.Namespace, "pod": job + "-0", "instance": job + ":8080",
			}})
			return nil
		})
	}
	return group.Wait()
}

func (e *environment) close() error {
	var errs []error
	for _, end := range slices.Backward(e.ends) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// now is the time since the recording began.
func (e *environment) now() time.Duration { return time.Since(e.began) }

// scrape asks every operator once each interval, until ctx is cancelled.
func (e *environment) scrape(ctx context.Context) error {
	ticker := time.NewTicker(e.plan.Interval)
	defer ticker.Stop()
	for {
		round := int(e.now() / e.plan.Interval)
		var samples []record.Sample
		for _, target := range e.targets {
			found, err := record.Scrape(ctx, target)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			samples = append(samples, found...)
		}
		e.recording.Add(round, samples)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// timeout bounds every wait. Refused and contested writes are retried at growing intervals.
const timeout = 3 * time.Minute

func (e *environment) until(ctx context.Context, try func(context.Context) error) error {
	return await.Until(ctx, timeout, try)
}

// untilFigures waits until a query about the figures has a result.
func (e *environment) untilFigures(ctx context.Context, query string) error {
	return e.until(ctx, func(ctx context.Context) error {
		holds, err := e.recording.Holds(ctx, query)
		if err == nil && !holds {
			err = fmt.Errorf("the figures do not show: %s", query)
		}
		return err
	})
}

// rest pauses, so that the figures of one act do not mix with those of the next.
func (e *environment) rest(ctx context.Context) error { return pass(ctx, e.plan.Rest) }

func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
