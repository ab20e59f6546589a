package layer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/kinds"
	"github.com/trueup-go/trueup/ensure/internal/memory"
)

// A Child is the object that a call is about. Nothing changes it once package ensure has made it.
type Child struct {
	Kind    *kinds.Kind
	Subject fault.Subject

	Owner      client.Object          // that the caller gave, or nil
	Controller *metav1.OwnerReference // that desired names, or nil

	Desired client.Object // stamped with the namespace, the labels and the owner
	Digest  string        // of everything that Desired specifies

	Operator *Operator
	DryRun   bool
}

// ID identifies the child on the API server.
func (c *Child) ID() memory.ChildKey { return memory.ChildKey{Kind: c.Kind.Name, Key: c.Subject.Key} }

// OwnedID tells calls on behalf of different owners apart.
func (c *Child) OwnedID() memory.OwnedKey {
	id := memory.OwnedKey{ChildKey: c.ID()}
	if c.Controller != nil {
		id.Owner = c.Controller.UID
	}
	return id
}
