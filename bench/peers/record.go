package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/bench/internal/contest"
	"github.com/trueup-go/trueup/bench/internal/replay"
	"github.com/trueup-go/trueup/test/harness/await"
)

// recordTimeout limits the wait for the Deployment controller.
const recordTimeout = time.Minute

// record writes into a folder what an API server answers to each contestant, for bench, which replays that.
func record(ctx context.Context, folder string) error {
	return onNewCluster(ctx, func(e *environment) error { return e.record(ctx, folder) })
}

func (e *environment) record(ctx context.Context, folder string) error {
	var all []*recorder
	for _, contestant := range contest.Contestants() {
		of, err := e.newRecorders(ctx, contestant)
		if err != nil {
			return fmt.Errorf("%s: %w", contestant.Name, err)
		}
		all = append(all, of...)
	}
	for _, step := range replay.Steps() {
		if err := eachRecorder(all, func(r *recorder) error { return r.change(ctx, step) }); err != nil {
			return fmt.Errorf("before %s: %w", step, err)
		}
		if err := waitForNextSecond(ctx); err != nil {
			return err
		}
		if err := eachRecorder(all, func(r *recorder) error { return r.step(ctx, step) }); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return eachRecorder(all, func(r *recorder) error { return r.save(folder) })
}

func eachRecorder(all []*recorder, do func(*recorder) error) error {
	for _, r := range all {
		if err := do(r); err != nil {
			return fmt.Errorf("%s, %s: %w", r.contestant.Name, r.child.Kind.Kind, err)
		}
	}
	return nil
}

// A recorder records the steps of a contestant with one child.
type recorder struct {
	*environment

	contestant contest.Contestant
	child      child
	owner      *corev1.ConfigMap
	cache      *replay.Cache
	transport  *replay.Recorder
	write      contest.Writer
	recording  replay.Recording
}

// newRecorders returns a recorder for each child of a contestant, which has a namespace of its own.
func (e *environment) newRecorders(ctx context.Context, c contest.Contestant) ([]*recorder, error) {
	owners, err := e.createOwners(ctx, 1)
	if err != nil {
		return nil, err
	}
	owner := owners[0]
	var all []*recorder
	for _, child := range children() {
		transport, config := &replay.Recorder{}, e.cluster.Config()
		config.UserAgent = replay.FieldOwner
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			transport.Next = next
			return transport
		})
		server, err := client.New(config, client.Options{Scheme: e.scheme})
		if err != nil {
			return nil, fmt.Errorf("cannot make a client: %w", err)
		}
		cache := &replay.Cache{Client: server, Kind: child.Kind}
		all = append(all, &recorder{
			environment: e, contestant: c, child: child, owner: owner, cache: cache, transport: transport,
			write:     c.Start(cache, replay.FieldOwner),
			recording: replay.Recording{Owner: replay.Owner{Namespace: owner.Namespace, Name: owner.Name, UID: owner.UID}},
		})
	}
	return all, nil
}

// change has somebody else, or the end of the operator, prepare a step.
func (r *recorder) change(ctx context.Context, step string) error {
	switch step {
	case replay.Status:
		return r.child.heartbeatPatch(ctx, r.admin, r.child.Desired(r.owner, 0))
	case replay.Drift:
		return r.child.driftPatch(ctx, r.admin, r.child.Desired(r.owner, 0))
	case replay.Restart:
		r.write = r.contestant.Start(r.cache, replay.FieldOwner)
	}
	return nil
}

// step records a pass over the child, once that has settled.
func (r *recorder) step(ctx context.Context, name string) error {
	r.transport.Reset()
	r.cache.Reads = 0
	if name != replay.Create {
		if err := await.Until(ctx, recordTimeout, r.read); err != nil {
			return err
		}
	}
	if err := r.write(ctx, r.owner, r.child.Child, r.child.Desired(r.owner, replay.Revision(name))); err != nil {
		return err
	}
	return r.recording.Add(name, r.transport, r.cache)
}

// read fills the cache. An error means that the child has not settled.
func (r *recorder) read(ctx context.Context) error {
	live := r.child.Empty()
	if err := r.cache.Client.Get(ctx, client.ObjectKeyFromObject(r.child.Desired(r.owner, 0)), live); err != nil {
		return err
	}
	r.cache.Live = live
	return checkObserved(live)
}

func (r *recorder) save(folder string) error {
	text, err := r.recording.Format()
	if err != nil {
		return err
	}
	file := filepath.Join(folder, replay.File(r.contestant, r.child.Child))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
