package scale

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/client-go/rest"

	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// transit bounds the time of a request from its sender to the server's log.
const transit = time.Minute

// Requests are the requests of one client, except those of its informers and its discovery of
// kinds. They are counted twice, where the client sends them and where the API server receives
// them. Different counts are an error.
type Requests struct {
	// Sent is how many there are, each try counted, and Created how many of them made
	// an object.
	Sent, Created int
	// Kinds counts the requests of each kind, as cluster.Counts does.
	Kinds map[string]int
}

// others returns the number of requests that created nothing.
func (r Requests) others() int { return r.Sent - r.Created }

func (r Requests) plus(more Requests) Requests {
	sum := Requests{Sent: r.Sent + more.Sent, Created: r.Created + more.Created, Kinds: maps.Clone(more.Kinds)}
	for kind, n := range r.Kinds {
		sum.Kinds[kind] += n
	}
	return sum
}

// A counter counts the requests of one client.
type counter struct {
	meter   meter
	cluster *cluster.Cluster
	agent   string
}

// newCounter returns a counter and the config of its client.
func (t *Trial) newCounter() (*counter, *rest.Config) {
	t.counters++
	c := &counter{cluster: t.cluster, agent: fmt.Sprintf("soak-%d", t.counters)}
	config := t.cluster.Config()
	config.UserAgent = c.agent
	config.Wrap(c.meter.wrap)
	return c, config
}

// A mark is a moment to count from.
type mark struct {
	sent, created int64
	received      cluster.Mark
}

func (c *counter) now() mark {
	return mark{sent: c.meter.sent.Load(), created: c.meter.created.Load(), received: c.cluster.Mark()}
}

// since waits until the server has received all sent requests.
func (c *counter) since(ctx context.Context, m mark) (requests Requests, err error) {
	err = await.Until(ctx, transit, func(context.Context) error {
		requests, err = c.compare(m)
		return err
	})
	return requests, err
}

func (c *counter) compare(m mark) (Requests, error) {
	sent := int(c.meter.sent.Load() - m.sent)
	received, err := c.cluster.Requests(m.received, cluster.ByUserAgent(c.agent), cluster.Deliberate)
	if err != nil {
		return Requests{}, err
	}
	r := Requests{Sent: sent, Created: int(c.meter.created.Load() - m.created), Kinds: cluster.Counts(received)}
	if len(received) != sent {
		return r, fmt.Errorf("cannot count requests: %d were sent, and %d received: %v", sent, len(received), r.Kinds)
	}
	return r, nil
}
