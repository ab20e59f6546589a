package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/bench/internal/contest"
)

// FieldOwner is the field owner and the user agent of all contestants.
const FieldOwner = "shop-operator"

// A Replay repeats the passes of a contestant over one child.
type Replay struct {
	Contestant contest.Contestant
	Child      contest.Child
	Recording  *Recording

	owner  *corev1.ConfigMap
	player *player
	server client.Client
	// versions are the versions of the child, as the client decodes them and as the API server sends them.
	versions map[string]version
}

type version struct {
	object client.Object
	bytes  []byte
}

// Open returns the replay of a recording among recordings. If observe is not nil, the client uses the transport that it
// returns for the one that gives the answers.
func Open(
	ctx context.Context, recordings fs.FS, c contest.Contestant, child contest.Child,
	observe func(http.RoundTripper) http.RoundTripper,
) (*Replay, error) {
	recording, err := readRecording(recordings, c, child)
	if err != nil {
		return nil, err
	}
	return New(ctx, c, child, recording, observe)
}

// New returns the replay of a recording.
func New(
	ctx context.Context, c contest.Contestant, child contest.Child, recording *Recording,
	observe func(http.RoundTripper) http.RoundTripper,
) (*Replay, error) {
	r := &Replay{
		Contestant: c, Child: child, Recording: recording,
		owner: recording.Owner.Object(), player: &player{}, versions: make(map[string]version, len(recording.Versions)),
	}
	var transport http.RoundTripper = r.player
	if observe != nil {
		transport = observe(transport)
	}
	var err error
	if r.server, err = newClient(transport); err != nil {
		return nil, err
	}
	for name, object := range recording.Versions {
		if r.versions[name], err = r.decode(ctx, object); err != nil {
			return nil, fmt.Errorf("%s, version %s: %w", File(c, child), name, err)
		}
	}
	return r, nil
}

// decode has the client read an object.
func (r *Replay) decode(ctx context.Context, object json.RawMessage) (version, error) {
	encoded, err := body{r.Recording.ContentType, object}.bytes()
	if err != nil {
		return version{}, err
	}
	r.player.answer = &playedAnswer{http.MethodGet, r.Recording.ContentType, http.StatusOK, encoded}
	decoded := r.Child.Empty()
	err = r.server.Get(ctx, client.ObjectKeyFromObject(r.desired(0)), decoded)
	return version{decoded, encoded}, err
}

func (r *Replay) desired(revision int) client.Object { return r.Child.Desired(r.owner, revision) }

// remembered returns the version that a running operator has seen before a step, with nothing to do. A new one has seen none.
func (r *Replay) remembered(step string) string {
	switch step {
	case Status:
		return r.Recording.Step(Create).Answer.Version
	case Drift:
		return r.Recording.Step(Status).Live
	case Change:
		return r.Recording.Step(Change).Live
	}
	return ""
}

// Prepare returns a function that repeats the step once. It returns an error if the contestant does not send the recorded
// request, or one where none was recorded. The operator is ready before, with what it remembers, and with the desired child.
func (r *Replay) Prepare(ctx context.Context, step string) (func() error, error) {
	cache := &Cache{Client: r.server, Kind: r.Child.Kind}
	write := r.Contestant.Start(cache, FieldOwner)
	if seen := r.remembered(step); seen != "" && r.Contestant.Remembers {
		cache.Live, r.player.answer = r.versions[seen].object, nil
		for range 2 {
			if err := write(ctx, r.owner, r.Child, r.desired(0)); err != nil {
				return nil, fmt.Errorf("before %s: %w", step, err)
			}
		}
	}
	recorded, desired := r.Recording.Step(step), r.desired(Revision(step))
	cache.Live = r.versions[recorded.Live].object
	answer, requests := r.answer(recorded)
	return func() error {
		r.player.answer, r.player.requests = answer, 0
		if err := write(ctx, r.owner, r.Child, desired); err != nil {
			return err
		}
		if r.player.requests != requests {
			return fmt.Errorf("%d requests instead of %d: run make bench-record", r.player.requests, requests)
		}
		return nil
	}, nil
}

// answer returns the answer to the request of a step, and how many there are.
func (r *Replay) answer(s Step) (answer *playedAnswer, requests int) {
	if s.Answer == nil {
		return nil, 0
	}
	return &playedAnswer{s.Request.Method, r.Recording.ContentType, s.Answer.Status, r.versions[s.Answer.Version].bytes}, 1
}
