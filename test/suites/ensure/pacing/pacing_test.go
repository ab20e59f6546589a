package pacing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/offset"
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const (
	// The admin changes the children this often, and each change wakes the operator.
	changeInterval = 2 * time.Second
	// At most so many requests are sent in the first seconds, and one attempt is made a minute in the end.
	earlyPhase, maxEarlyRequests = 10 * time.Second, 10
	latePhaseBegin, latePhaseEnd = 2 * time.Minute, 5 * time.Minute
	maxLateAttempts              = int((latePhaseEnd - latePhaseBegin) / time.Minute)
	// The requests of an attempt follow each other sooner.
	attemptInterval = 5 * time.Second
)

// A fixture is a namespace with an operator, a Website, an admin, and an obstacle that the operator meets.
type fixture struct {
	*operator

	t         *testing.T
	name      string // of the operator on the server
	namespace string
	admin     client.Client
	site      *Website
	mark      cluster.Mark
	began     time.Time
}

// An obstacle keeps an operator from its work.
type obstacle struct {
	name   string
	reason string // of the condition
	// before is done before there is a Website, and after is done once all is well.
	before, after func(f *fixture)
	caching       func(options *cache.Options)
	isReader      bool // the cache is given as the reader of the server
	account       bool // the operator may do all but write Deployments
}

func TestRequestsOfAnOperatorInTrouble(t *testing.T) {
	program.Define(t, shared, websiteDefinition, websiteKind)
	for _, obstacle := range obstacles {
		t.Run(obstacle.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, obstacle)
			f.mark, f.began = shared.Mark(), time.Now()
			require.NoError(t, f.admin.Create(t.Context(), f.site))
			if obstacle.after != nil {
				f.awaitReady(obstacle.caching != nil)
				f.mark, f.began = shared.Mark(), time.Now()
				obstacle.after(f)
			}
			f.measure(obstacle.reason)
		})
	}
}

func newFixture(t *testing.T, obstacle obstacle) *fixture {
	t.Helper()
	namespace := shared.Namespace(t)
	admin, err := client.New(program.Config(shared, "user in "+namespace), client.Options{Scheme: newScheme(t)})
	require.NoError(t, err)
	f := &fixture{
		operator: &operator{clock: &offset.Clock{}}, t: t, name: "operator in " + namespace, namespace: namespace, admin: admin,
		site: &Website{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"},
			Spec:       WebsiteSpec{Image: "nginx:1.29", Replicas: 1},
		},
	}
	if obstacle.before != nil {
		obstacle.before(f)
	}
	config := program.Config(shared, f.name)
	if obstacle.account {
		config = f.account()
	}
	caching := cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}
	if obstacle.caching != nil {
		obstacle.caching(&caching)
	}
	f.start(t, config, caching, obstacle.isReader)
	return f
}

// awaitReady waits until all is well, or, if the cache does not show that, has been reported on.
func (f *fixture) awaitReady(isHidden bool) {
	f.t.Helper()
	require.NoError(f.t, shared.Await(f.t.Context(), limit, f.namespace, func(ctx context.Context) error {
		site := &Website{}
		if err := f.admin.Get(ctx, client.ObjectKeyFromObject(f.site), site); err != nil {
			return err
		}
		reported := meta.FindStatusCondition(site.Status.Conditions, "Ready")
		if reported == nil || !isHidden && reported.Status != metav1.ConditionTrue {
			return fmt.Errorf("not ready: %+v", site.Status.Conditions)
		}
		return nil
	}))
}

// awaitPass wakes the operator until a pass that began after now is over.
func (f *fixture) awaitPass() {
	f.t.Helper()
	begun := f.passes.Load()
	require.NoError(f.t, shared.Await(f.t.Context(), limit, f.namespace, func(ctx context.Context) error {
		if f.passes.Load() >= begun+2 {
			return nil
		}
		touch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, time.Now().UnixNano()))
		if err := f.admin.Patch(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: f.site.Name}}, touch); err != nil {
			return err
		}
		return errors.New("no pass yet")
	}))
}

// measure changes the children as an admin and counts the operator's requests.
func (f *fixture) measure(reason string) {
	f.t.Helper()
	f.disturb(earlyPhase)
	first := f.requests(0, earlyPhase)
	f.t.Logf("%d requests in the first %s, %d passes:\n%s", len(first), earlyPhase, f.passes.Load(), f.list(first))
	f.awaitReason(reason)
	require.Greater(f.t, int(f.passes.Load()), 3, "it was woken")
	require.LessOrEqual(f.t, len(first), maxEarlyRequests)
	if testing.Short() {
		return
	}
	f.disturb(latePhaseBegin)
	passes := f.passes.Load()
	f.disturb(latePhaseEnd)
	last := f.requests(latePhaseBegin, latePhaseEnd)
	f.t.Logf("%d requests from %s to %s, of:\n%s", len(last), latePhaseBegin, latePhaseEnd, f.list(f.requests(0, latePhaseEnd)))
	require.Equal(f.t, reason, ensure.Reason(*f.last.Load()))
	require.Greater(f.t, int(f.passes.Load()-passes), 60, "it was woken")
	require.LessOrEqual(f.t, attempts(last), maxLateAttempts)
}

// awaitReason waits until the last pass failed for that reason. On a busy machine, a contest begins late.
func (f *fixture) awaitReason(reason string) {
	f.t.Helper()
	require.NoError(f.t, shared.Await(f.t.Context(), limit, f.namespace, func(context.Context) error {
		if last := f.last.Load(); last == nil || ensure.Reason(*last) != reason {
			return errors.New("the reason is another one")
		}
		return nil
	}))
}

// disturb changes the children in a way that is nobody's business, until so long after the
// beginning.
func (f *fixture) disturb(until time.Duration) {
	f.t.Helper()
	ticker := time.NewTicker(changeInterval)
	defer ticker.Stop()
	for over := time.After(time.Until(f.began.Add(until))); ; {
		select {
		case <-over:
			return
		case now := <-ticker.C:
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, now.Unix()))
			key := metav1.ObjectMeta{Namespace: f.namespace, Name: f.site.Name}
			// One of the objects may be missing or may refuse the patch.
			_ = f.admin.Patch(f.t.Context(), &corev1.ConfigMap{ObjectMeta: key}, patch)
			_ = f.admin.Patch(f.t.Context(), &appsv1.Deployment{ObjectMeta: key}, patch)
		}
	}
}

// requests returns the operator's requests between two times after the beginning, except watches and leases.
func (f *fixture) requests(from, until time.Duration) []cluster.Request {
	f.t.Helper()
	found, err := shared.Requests(f.mark, cluster.ByUserAgent(f.name), func(r cluster.Request) bool {
		at := r.Time.Sub(f.began)
		return from <= at && at < until && r.Verb != "watch" && r.Resource != "leases"
	})
	require.NoError(f.t, err)
	return found
}

// attempts counts the attempts to which requests belong.
func attempts(requests []cluster.Request) (count int) {
	for i, r := range requests {
		if i == 0 || r.Time.Sub(requests[i-1].Time) > attemptInterval {
			count++
		}
	}
	return count
}

// list returns the requests with the time of each.
func (f *fixture) list(requests []cluster.Request) string {
	var text strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&text, "%6.1fs %s\n", r.Time.Sub(f.began).Seconds(), r)
	}
	return text.String()
}
