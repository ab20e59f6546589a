package ensure

import (
	"errors"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/internal/answer"
)

// refusedFor is how long a refusal is remembered that was found out by several requests. The
// same desired state for the same live object is refused again, unless somebody changes the
// schema meanwhile. What a policy objects to is asked again each time: it is one request.
const refusedFor = 2 * time.Minute

// A refusal is the API server's last word about a change of live.
type refusal struct {
	uid     types.UID
	digest  string
	content string // fingerprint of live
	allowed permission
	at      time.Time
	err     error
}

// A permission is all that decides whether live may be deleted instead.
type permission struct {
	recreate        metav1.DeletionPropagation
	named, onDrift  bool
	adopt, ifExists bool
	fromPods        bool
	handover        string // what is taken over, and what is released
}

// lastRefusal returns the error of an earlier pass that wanted the same of the same live
// object a short time ago, or nil.
func (c *child) lastRefusal(live client.Object) error {
	if c.memory.refused.Len() == 0 {
		return nil
	}
	value, _ := c.memory.refused.Get(c.id())
	known, ok := value.(refusal)
	if !ok || c.clock.Now().Sub(known.at) >= refusedFor {
		return nil
	}
	now, ok := c.refusalOf(live, known.err)
	if now.at = known.at; !ok || now != known {
		return nil
	}
	return known.err
}

// noteRefusal remembers an error that would come again and that requests found out.
func (c *child) noteRefusal(live client.Object, err error) {
	isFinal := errors.Is(err, ErrInvalid) || errors.Is(err, ErrImmutable) || errors.Is(err, ErrRefused)
	_, isAnswer := answer.Status(err)
	if c.requests == 0 || c.unsure || !isFinal || isAnswer && !namesFieldsOnly(err) {
		return
	}
	if refused, ok := c.refusalOf(live, err); ok {
		c.memory.refused.Add(c.id(), refused)
	}
}

// refusalOf returns err as the answer to this call for live; false if nothing tells whether
// live stays as it is.
func (c *child) refusalOf(live client.Object, err error) (refusal, bool) {
	content, ok := c.fingerprint(live)
	return refusal{
		uid: live.GetUID(), digest: c.digest, content: content, at: c.clock.Now(), err: err,
		allowed: permission{
			recreate: c.recreate, named: c.recreateNamed, onDrift: c.onDrift, adopt: c.adopt, ifExists: c.ifExists,
			fromPods: c.removeFromPods, handover: strings.Join(slices.Concat(c.migrateFrom, []string{""}, c.release), "\n"),
		},
	}, ok && !c.dryRun
}
