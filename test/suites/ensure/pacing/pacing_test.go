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
	"github.com/trueup-go/trueup/test/suites/ensure/program"
)

const (
	// A person changes the children this often, and each change wakes the operator.
	often = 2 * time.Second
	// At most so many requests are sent in the first seconds, and one a minute in the end.
	atFirst, mostAtFirst = 10 * time.Second, 10
	inTheEnd, end        = 2 * time.Minute, 5 * time.Minute
	mostInTheEnd         = int((end - inTheEnd) / time.Minute)
)

// A trial is an operator, a person, and the obstacle between them.
type trial struct {
	*operator

	t         *testing.T
	name      string // of the operator on the server
	namespace string
	person    client.Client
	site      *Website
	mark      cluster.Mark
	began     time.Time
}

// A trouble is an obstacle that keeps an operator from its work.
type trouble struct {
	name   string
	reason string // of the condition
	// before is done before there is a Website, and after is done once all is well.
	before, after func(x *trial)
	caching       func(options *cache.Options)
	isReader      bool // the cache is given as the reader of the server
	account       bool // the operator may do all but write Deployments
}

func TestRequestsOfAnOperatorInTrouble(t *testing.T) {
	program.Define(t, shared, websiteDefinition, websiteKind)
	for _, trouble := range troubles {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			x := newTrial(t, trouble)
			x.mark, x.began = shared.Mark(), time.Now()
			require.NoError(t, x.person.Create(t.Context(), x.site))
			if trouble.after != nil {
				x.awaitReady(trouble.caching != nil)
				x.mark, x.began = shared.Mark(), time.Now()
				trouble.after(x)
			}
			x.measure(trouble.reason)
		})
	}
}

func newTrial(t *testing.T, trouble trouble) *trial {
	t.Helper()
	namespace := shared.Namespace(t)
	person, err := client.New(program.Config(shared, "person in "+namespace), client.Options{Scheme: newScheme(t)})
	require.NoError(t, err)
	x := &trial{
		operator: &operator{clock: &offsetClock{}}, t: t, name: "operator in " + namespace, namespace: namespace, person: person,
		site: &Website{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"},
			Spec:       WebsiteSpec{Image: "nginx:1.29", Replicas: 1},
		},
	}
	if trouble.before != nil {
		trouble.before(x)
	}
	config := program.Config(shared, x.name)
	if trouble.account {
		config = x.account()
	}
	caching := cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}
	if trouble.caching != nil {
		trouble.caching(&caching)
	}
	x.start(t, config, caching, trouble.isReader)
	return x
}

// awaitReady waits until all is well, or, if the cache does not show that, has been reported on.
func (x *trial) awaitReady(isHidden bool) {
	x.t.Helper()
	require.NoError(x.t, shared.Await(x.t.Context(), limit, x.namespace, func(ctx context.Context) error {
		site := &Website{}
		if err := x.person.Get(ctx, client.ObjectKeyFromObject(x.site), site); err != nil {
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
func (x *trial) awaitPass() {
	x.t.Helper()
	begun := x.passes.Load()
	require.NoError(x.t, shared.Await(x.t.Context(), limit, x.namespace, func(ctx context.Context) error {
		if x.passes.Load() >= begun+2 {
			return nil
		}
		touch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, time.Now().UnixNano()))
		if err := x.person.Patch(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: x.site.Name}}, touch); err != nil {
			return err
		}
		return errors.New("no pass yet")
	}))
}

// measure has a person change the children, and counts.
func (x *trial) measure(reason string) {
	x.t.Helper()
	x.disturb(atFirst)
	first := x.requests(x.mark)
	x.t.Logf("%d requests in the first %s, %d passes:\n%s", len(first), atFirst, x.passes.Load(), tell(first))
	require.NotNil(x.t, x.last.Load())
	require.Equal(x.t, reason, ensure.Reason(*x.last.Load()))
	require.Greater(x.t, int(x.passes.Load()), 3, "it was woken")
	require.LessOrEqual(x.t, len(first), mostAtFirst)
	if testing.Short() {
		return
	}
	x.disturb(inTheEnd)
	passes, mark := x.passes.Load(), shared.Mark()
	x.disturb(end)
	last := x.requests(mark)
	x.t.Logf("%d requests from %s to %s:\n%s", len(last), inTheEnd, end, tell(last))
	require.Equal(x.t, reason, ensure.Reason(*x.last.Load()))
	require.Greater(x.t, int(x.passes.Load()-passes), 60, "it was woken")
	require.LessOrEqual(x.t, len(last), mostInTheEnd)
}

// disturb changes the children in a way that is nobody's business, until so long after the
// beginning.
func (x *trial) disturb(until time.Duration) {
	x.t.Helper()
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	for over := time.After(time.Until(x.began.Add(until))); ; {
		select {
		case <-over:
			return
		case now := <-ticker.C:
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"%d"}}}`, now.Unix()))
			key := metav1.ObjectMeta{Namespace: x.namespace, Name: x.site.Name}
			// One of the objects may be missing or may refuse the patch.
			_ = x.person.Patch(x.t.Context(), &corev1.ConfigMap{ObjectMeta: key}, patch)
			_ = x.person.Patch(x.t.Context(), &appsv1.Deployment{ObjectMeta: key}, patch)
		}
	}
}

// requests returns the operator's requests since the mark, except watches and leases.
func (x *trial) requests(since cluster.Mark) []cluster.Request {
	x.t.Helper()
	found, err := shared.Requests(since, cluster.ByUserAgent(x.name), func(r cluster.Request) bool {
		return r.Verb != "watch" && r.Resource != "leases"
	})
	require.NoError(x.t, err)
	return found
}

func tell(requests []cluster.Request) string {
	var text strings.Builder
	for _, r := range requests {
		text.WriteString(r.String() + "\n")
	}
	return text.String()
}
