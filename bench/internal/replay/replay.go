package replay

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/bench/internal/contest"
)

// FieldOwner is the field owner and the user agent of all contestants.
const FieldOwner = "shop-operator"

// A Replay repeats the steps of a contestant with one child.
type Replay struct {
	Contestant contest.Contestant
	Child      contest.Child

	// Steps are the recorded steps, by name.
	Steps map[string]Step

	owner  *corev1.ConfigMap
	player *player
	server client.Client
	passes map[string]pass
}

// A pass is a step in the form in which it is replayed.
type pass struct {
	live   client.Object
	answer *answerBytes
}

// Open returns the replay of a contestant with one child. If observe is not nil, requests are sent to the transport that
// it returns for the one that answers them.
func Open(
	ctx context.Context, recordings fs.FS, c contest.Contestant, child contest.Child,
	observe func(http.RoundTripper) http.RoundTripper,
) (*Replay, error) {
	steps, err := readSteps(recordings, c, child)
	if err != nil {
		return nil, err
	}
	return New(ctx, c, child, steps, observe)
}

// New returns the replay of these steps.
func New(
	ctx context.Context, c contest.Contestant, child contest.Child, steps map[string]Step, observe func(http.RoundTripper) http.RoundTripper,
) (*Replay, error) {
	r := &Replay{
		Contestant: c, Child: child, Steps: steps,
		owner: contest.Owner(Slug(c)), player: &player{}, passes: make(map[string]pass, len(steps)),
	}
	var transport http.RoundTripper = r.player
	if observe != nil {
		transport = observe(transport)
	}
	var err error
	if r.server, err = newClient(transport); err != nil {
		return nil, err
	}
	for name, step := range steps {
		if r.passes[name], err = r.read(ctx, step); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", File(c, child), name, err)
		}
	}
	return r, nil
}

// read has the client read the live object, so that it is in memory as the client decodes it.
func (r *Replay) read(ctx context.Context, step Step) (pass, error) {
	var read pass
	if step.Live != nil {
		body, err := step.Live.Bytes()
		if err != nil {
			return read, err
		}
		r.player.answer = &answerBytes{http.MethodGet, step.Live.ContentType, http.StatusOK, body}
		read.live = r.Child.Empty()
		if err := r.server.Get(ctx, client.ObjectKeyFromObject(r.desired(0)), read.live); err != nil {
			return read, err
		}
	}
	if step.Answer != nil {
		body, err := step.Answer.Body.Bytes()
		if err != nil {
			return read, err
		}
		read.answer = &answerBytes{step.Request.Method, step.Answer.Body.ContentType, step.Answer.Status, body}
	}
	return read, nil
}

func (r *Replay) desired(revision int) client.Object { return r.Child.Desired(r.owner, revision) }

// rememberedFrom is the step before which a running operator last saw the child as it wanted it, and remembered that.
var rememberedFrom = map[string]string{Nothing: Nothing, Status: Nothing, Drift: Nothing, Change: Change}

// Prepare returns a function that repeats the step once. It returns an error if the contestant does not send the recorded
// request, or one where none was recorded. The operator is ready before, with what it remembers, and with the desired child.
func (r *Replay) Prepare(ctx context.Context, step string) (func() error, error) {
	cache := &Cache{Client: r.server, Kind: r.Child.Kind}
	write := r.Contestant.Start(cache, FieldOwner)
	if from, remembers := rememberedFrom[step]; remembers && r.Contestant.Remembers {
		cache.Live, r.player.answer = r.passes[from].live, nil
		for range 2 {
			if err := write(ctx, r.owner, r.Child, r.desired(0)); err != nil {
				return nil, fmt.Errorf("before %s: %w", step, err)
			}
		}
	}
	pass, desired := r.passes[step], r.desired(Revision(step))
	cache.Live = pass.live
	return func() error {
		r.player.answer, r.player.requests = pass.answer, 0
		if err := write(ctx, r.owner, r.Child, desired); err != nil {
			return err
		}
		if pass.answer != nil && r.player.requests != 1 {
			return fmt.Errorf("%d requests instead of one", r.player.requests)
		}
		return nil
	}, nil
}
