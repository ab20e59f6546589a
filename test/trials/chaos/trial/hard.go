package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/application/api/v1alpha1"
	"github.com/trueup-go/trueup/test/harness/await"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// The namespaces of owners with a child that is never as desired.
const (
	refusedNamespace   = "chaos-refused"
	contestedNamespace = "chaos-contested"
)

// hardChildren are children that are never as desired, by the reason.
var hardChildren = map[string]owners.Ref{
	"refused by a quota":   {Kind: "Deployment", Namespace: refusedNamespace, Name: "refused-deployment-microservice"},
	"of somebody else":     {Kind: "Secret", Namespace: refusedNamespace, Name: "foreign-secret-greeting"},
	"contested by a rival": {Kind: "Deployment", Namespace: contestedNamespace, Name: "contested-deployment-microservice"},
}

const (
	// rivalPause is the time between two looks of the rival at the contested child.
	rivalPause = 200 * time.Millisecond
	// pokePause is the time between two changes of the other owners, each of which causes a reconcile.
	pokePause = time.Second
	// kubeletPause is the time between two looks for pods that have to be finished.
	kubeletPause = 5 * time.Second
	// quickWrites is how many writes of a hard child may come before the pauses between them reach a minute.
	quickWrites = 8
)

// createHard creates the owners with hard children.
func (e *environment) createHard(ctx context.Context) error {
	quota := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")},
	}}
	quota.Namespace, quota.Name = refusedNamespace, "no-deployments"
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = refusedNamespace, hardChildren["of somebody else"].Name
	if err := errors.Join(e.admin.Create(ctx, quota), e.admin.Create(ctx, secret)); err != nil {
		return fmt.Errorf("cannot prepare the refusals: %w", err)
	}
	err := await.Until(ctx, waitTimeout, func(ctx context.Context) error {
		if err := e.admin.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil || len(quota.Status.Hard) > 0 {
			return err
		}
		return errors.New("the quota is not in force yet")
	})
	if err != nil {
		return err
	}
	for _, key := range hardOwners {
		app := &v1alpha1.Application{}
		app.Namespace, app.Name = key.Namespace, key.Name
		if err := e.admin.Create(ctx, app); err != nil {
			return fmt.Errorf("cannot create an owner: %w", err)
		}
	}
	return nil
}

var hardOwners = []owners.Ref{
	{Kind: "Application", Namespace: refusedNamespace, Name: "refused"},
	{Kind: "Application", Namespace: refusedNamespace, Name: "foreign"},
	{Kind: "Application", Namespace: contestedNamespace, Name: "contested"},
}

// disturb has a rival revert the contested child, somebody change the owners of the other hard children, and a kubelet
// finish pods, until ctx ends. All of them ignore errors of the API server.
func (e *environment) disturb(ctx context.Context) error {
	contested, looks := hardChildren["contested by a rival"], 0
	for {
		if err := pass(ctx, rivalPause); err != nil {
			return nil //nolint:nilerr // it is the end
		}
		live := contested.Object()
		if err := e.admin.Get(ctx, client.ObjectKeyFromObject(live), live); err == nil && owners.Lacks(live.Object, rivalWants, "") != "" {
			_ = e.admin.Patch(ctx, live, client.RawPatch(types.MergePatchType, []byte(rivalPatch)), client.FieldOwner("rival"))
		}
		if looks++; looks%int(pokePause/rivalPause) != 0 {
			continue
		}
		if looks%int(kubeletPause/rivalPause) == 0 {
			_ = e.finishPods(ctx)
		}
		for _, owner := range hardOwners[:2] {
			poke := fmt.Appendf(nil, `{"metadata":{"labels":{"example.org/poke":"%d"}}}`, looks)
			_ = e.admin.Patch(ctx, owner.Object(), client.RawPatch(types.MergePatchType, poke))
		}
	}
}

const rivalPatch = `{"spec":{"replicas":9}}`

var rivalWants = owners.Manifest{"spec": owners.Manifest{"replicas": int64(9)}}

// A hardness is how often an operator wrote to a hard child.
type hardness struct {
	Why    string
	Child  owners.Ref
	Writes int
	// Allowed is how many writes are allowed: a few at first, and then one a minute.
	Allowed int
}

// hardnesses counts the writes of hard children since the mark, made at that time, of an operator that has started so
// often since.
func (e *environment) hardnesses(since cluster.Mark, at time.Time, starts int) ([]hardness, error) {
	user := e.operators["application"].installed.User()
	var found []hardness
	for why, child := range hardChildren {
		writes, err := e.cluster.Requests(since, cluster.ByUser(user), cluster.Writes, func(r cluster.Request) bool {
			return r.Namespace == child.Namespace && r.Name == child.Name &&
				r.Resource == owners.Resource(child.Kind) && r.Subresource == ""
		})
		if err != nil {
			return nil, err
		}
		allowed := quickWrites*(1+starts) + int(math.Ceil(time.Since(at).Minutes()))
		found = append(found, hardness{Why: why, Child: child, Writes: len(writes), Allowed: allowed})
	}
	return found, nil
}
