// Package scale measures on a real API server the cost of a trueup operator with very many
// children: the requests, time and memory of each child.
package scale

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// A Trial measures an operator in a cluster. Make one per cluster, by NewTrial.
type Trial struct {
	// Workers is how many Stacks the operator reconciles at a time.
	Workers int
	// Rounds is how often everything is measured. The median counts.
	Rounds int
	// ReadYourWrites has the operator's reads wait until its cache shows its writes.
	ReadYourWrites bool
	// Out receives progress messages.
	Out io.Writer

	cluster  *cluster.Cluster
	scheme   *runtime.Scheme
	admin    client.WithWatch
	counters int
}

// NewTrial prepares a cluster. By default, the trial prints no progress, measures each time once,
// and has 4 workers.
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
