// Package scale tries what an operator built with trueup costs when it has very many
// children, on a real API server: the requests, time and memory of each, and how fast
// it makes them.
package scale

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/cluster"
)

// A Trial measures an operator in a cluster. Make one per cluster, by NewTrial.
type Trial struct {
	// Workers is how many Stacks the operator reconciles at a time, and how many
	// requests the plain client makes.
	Workers int
	// Rounds is how often everything is measured. The median counts.
	Rounds int
	// ReadYourWrites has the operator's reads wait until its cache shows what it wrote.
	ReadYourWrites bool
	// Out is told how it goes.
	Out io.Writer

	cluster  *cluster.Cluster
	scheme   *runtime.Scheme
	admin    client.WithWatch
	counters int
}

// NewTrial prepares a cluster. The trial says nothing of how it goes, takes each
// time once, and has 4 workers, unless it is told otherwise.
func NewTrial(ctx context.Context, c *cluster.Cluster) (*Trial, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, fmt.Errorf("cannot make a scheme: %w", err)
	}
	admin, err := client.NewWithWatch(c.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	t := &Trial{Workers: 4, Rounds: 1, Out: io.Discard, cluster: c, scheme: scheme, admin: admin}
	return t, installKinds(ctx, admin)
}

func (t *Trial) say(format string, args ...any) {
	fmt.Fprintf(t.Out, format+"\n", args...)
}
