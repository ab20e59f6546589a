package main

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// A cost is the cost of passes: means per child, unless the comment says otherwise.
type cost struct {
	// Writes are the requests that changed an object or could have, Reads and DryRuns the others.
	Writes, Reads, DryRuns float64
	// Bytes are those of the bodies of writes and dry runs, and of the answers.
	Bytes float64
	// EtcdWrites are the writes of the API server into etcd, also those for built-in controllers.
	EtcdWrites float64
	// Operator and Server are processor times, in seconds.
	Operator, Server float64
	// Allocations are those of the operator.
	Allocations float64
	// P50 and P99 are the times, in seconds, within which half and 99 % of the owners were reconciled.
	P50, P99 float64
}

// cost measures passes over all owners.
func (t *trial) cost(ctx context.Context, times int) (cost, error) {
	var c cost
	mark, bytes := t.cluster.Mark(), t.operator.bytes.Load()
	server, err := t.serverUsage(ctx)
	if err != nil {
		return c, err
	}
	operator := usageOfThisProcess()
	var latencies []time.Duration
	for range times {
		took, err := t.operator.pass(ctx, t.owners, t.revision)
		if err != nil {
			return c, err
		}
		latencies = append(latencies, took...)
	}
	operatorAfter := usageOfThisProcess()
	serverAfter, err := t.serverUsage(ctx)
	if err != nil {
		return c, err
	}
	requests, err := t.cluster.Requests(mark, cluster.ByUserAgent(t.operator.fieldOwner), cluster.Deliberate)
	if err != nil {
		return c, err
	}
	perChild := func(sum float64) float64 { return sum / float64(len(t.owners)*len(children())*times) }
	c.Writes, c.Reads, c.DryRuns = countRequests(requests, perChild(1))
	c.Bytes = perChild(float64(t.operator.bytes.Load() - bytes))
	c.EtcdWrites = perChild(serverAfter.etcdWrites - server.etcdWrites)
	c.Operator, c.Server = perChild(operatorAfter.seconds-operator.seconds), perChild(serverAfter.seconds-server.seconds)
	c.Allocations = perChild(operatorAfter.allocations - operator.allocations)
	slices.Sort(latencies)
	c.P50, c.P99 = latencies[len(latencies)/2].Seconds(), latencies[len(latencies)*99/100].Seconds()
	return c, nil
}

// countRequests adds up each for every request.
func countRequests(requests []cluster.Request, each float64) (writes, reads, dryRuns float64) {
	for _, request := range requests {
		switch {
		case request.DryRun:
			dryRuns += each
		case cluster.Writes(request):
			writes += each
		default:
			reads += each
		}
	}
	return writes, reads, dryRuns
}

// A processUsage counts the resources that a process has used since its start.
type processUsage struct {
	seconds     float64 // of processor time
	allocations float64
	etcdWrites  float64
}

// usageOfThisProcess returns the usage after a garbage collection, so that none is left over for the next step.
func usageOfThisProcess() processUsage {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	used := processUsage{allocations: float64(memory.Mallocs)}
	var resources syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &resources); err == nil {
		used.seconds = time.Duration(resources.Utime.Nano() + resources.Stime.Nano()).Seconds()
	}
	return used
}

// heapInUse returns the size of the reachable heap in bytes.
func heapInUse() int64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

// A byteCounter counts the bytes of all bodies, those of reads and watches excepted.
type byteCounter struct{ atomic.Int64 }

func (c *byteCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return next.RoundTrip(r)
		}
		c.Add(max(r.ContentLength, 0))
		answer, err := next.RoundTrip(r)
		if err == nil {
			answer.Body = &countedBody{answer.Body, c}
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type countedBody struct {
	io.ReadCloser

	counter *byteCounter
}

func (b *countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.counter.Add(int64(n))
	return n, err
}
