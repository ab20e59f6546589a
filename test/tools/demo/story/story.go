// Package story shows operators built with trueup and explains their actions. All figures are
// observed: times as a watcher sees them, requests as the API server counts them, paths as the
// operator logs them.
package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	storev1alpha1 "github.com/trueup-go/trueup/examples/bookstore/api/v1alpha1"
	rowsv1 "github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	wordsv1alpha1 "github.com/trueup-go/trueup/examples/reversewordsapp/api/v1alpha1"
	sitev1 "github.com/trueup-go/trueup/examples/site/api/v1"
	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// A Cluster is a cluster as its administrator sees it.
type Cluster interface {
	// Config returns a configuration, and Kubeconfig the path of a file with the same content.
	Config() *rest.Config
	Kubeconfig() string
}

// An Env is the place of one story: a namespace without objects of the story's names.
type Env struct {
	// Out is written to, line by line.
	Out io.Writer
	// Cluster is the cluster of the story, and Operator the installed operator.
	Cluster  Cluster
	Operator *operator.Operator
	// Own is Cluster if the demo started it. Otherwise, Own is nil: chapters that need simulated pods or
	// webhooks are skipped, and requests are counted by the metrics at the address Metrics.
	Own     *cluster.Cluster
	Metrics string
	// Process is the operator that runs; nil if none does, which makes a short story.
	Process *operator.Process
	// Namespace is where the story's objects are made.
	Namespace string
	// Timeout is how long each step may take before the story ends.
	Timeout time.Duration
}

// A mainObject is the object that a story is about.
type mainObject struct {
	kind, name string
	// work is what the operator creates for the main object, and makes is the word for one piece.
	work, makes string
	// deployment is the name of the main object's Deployment.
	deployment string
	// blank returns an empty object of the object's Go type, and conditions returns its conditions.
	blank      func() client.Object
	conditions func(client.Object) []metav1.Condition
}

// A story has the means to tell itself: watches, logs and output.
type story struct {
	Env
	mainObject

	client  client.WithWatch
	kubectl string
	events  eventLog
	chapter int
	idle    idleCost
}

// tell tells the chapters and sums up. An unexpected observation is an error with the expected and
// the actual observation.
func (s *story) tell(ctx context.Context, watched []client.ObjectList, chapters ...func(context.Context) error) (Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.open(ctx, watched); err != nil {
		return Summary{}, err
	}
	began, at := s.now(ctx), time.Now()
	s.say("\nThe story of an operator that acts as %s.", s.Operator.User())
	if s.Own == nil {
		s.say("Below: what a watcher sees, what the operator logs, and the requests for children that it counts.")
	} else {
		s.say("Below: what a watcher sees, what the operator logs, what the API server counts.")
	}
	for _, chapter := range chapters {
		if err := chapter(ctx); err != nil {
			return Summary{}, err
		}
	}
	s.say("\nEverything came true.")
	return s.sumUp(ctx, began, time.Since(at))
}

// open prepares the clients and watches of the story.
func (s *story) open(ctx context.Context, watched []client.ObjectList) (err error) {
	if s.kubectl, err = cluster.Kubectl(ctx); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), appv1alpha1.AddToScheme(scheme), rowsv1.AddToScheme(scheme),
		wordsv1alpha1.AddToScheme(scheme), storev1alpha1.AddToScheme(scheme), sitev1.AddToScheme(scheme))
	if err != nil {
		return err
	}
	if s.client, err = client.NewWithWatch(s.Cluster.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, kind := range watched {
		if err := s.events.watch(ctx, s.client, s.Namespace, kind); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Out, format+"\n", args...)
}

// simulated is why a chapter needs the simulated nodes of an own cluster.
const simulated = "It takes nodes that simulate pods."

func (s *story) title(text string) {
	s.chapter++
	s.say("\n%d. %s", s.chapter, text)
}

// onOwn returns chapter, or on an existing cluster a chapter that says why it is skipped.
func (s *story) onOwn(why string, chapter func(context.Context) error) func(context.Context) error {
	if s.Own != nil {
		return chapter
	}
	return func(context.Context) error {
		s.title("Skipped: " + why)
		return nil
	}
}

// fact prints a fact and its source.
func (s *story) fact(who, what string) {
	s.say("   %-10s%s", who, what)
}

// tellRest reports, once everything has settled, the writes in the operator's log and the requests
// that the API server counted.
func (s *story) tellRest(ctx context.Context, began checkpoint) error {
	message, err := s.settled(ctx, began)
	if err != nil {
		return err
	}
	for _, entry := range began.written() {
		why := fmt.Sprintf("%s %s, %s", strings.ToLower(entry.Text("operation")), entry.Text("kind"), entry.Text("cause"))
		if changes := entry.List("changes"); len(changes) > 0 {
			why += ": " + strings.Join(changes, "\n             ")
		}
		s.fact("operator", why)
	}
	if err := s.tellRequests(ctx, began); err != nil {
		return err
	}
	if message != "" {
		s.fact("Ready", message)
	}
	return nil
}

func (s *story) tellRequests(ctx context.Context, began checkpoint) error {
	requests, err := began.requests(ctx)
	if err != nil {
		return err
	}
	s.fact("requests", tally(requests))
	return nil
}

// run prints a command and runs it, in the repository's root and the story's namespace.
func (s *story) run(ctx context.Context, args ...string) error {
	s.say("   $ kubectl %s", strings.Join(quoted(args), " "))
	command := exec.CommandContext(ctx, s.kubectl, append([]string{"--namespace", s.Namespace}, args...)...)
	command.Dir = filepath.Dir(filepath.Dir(s.Operator.Dir))
	command.Env = append(os.Environ(), "KUBECONFIG="+s.Cluster.Kubeconfig())
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// expect waits until look sees the expected state, and otherwise returns the last observation.
func (s *story) expect(ctx context.Context, expected string, look func(context.Context) (seen string, ok bool)) error {
	try := func(ctx context.Context) error {
		if seen, ok := look(ctx); !ok {
			return fmt.Errorf("expected %s; seen: %s", expected, seen)
		}
		return nil
	}
	if s.Own == nil {
		return await.Until(ctx, s.Timeout, try)
	}
	return s.Own.Await(ctx, s.Timeout, "", try)
}

// quoted returns the arguments as a user would type them.
func quoted(args []string) []string {
	typed := slices.Clone(args)
	for i, arg := range typed {
		if strings.ContainsAny(arg, `"{} *`) {
			typed[i] = "'" + arg + "'"
		}
	}
	return typed
}
