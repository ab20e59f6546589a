package ensure

import (
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure/internal/fault"
	"github.com/trueup-go/trueup/ensure/internal/layer"
	"github.com/trueup-go/trueup/ensure/internal/memory"
	"github.com/trueup-go/trueup/internal/canon"
)

// An intent is a target with its desired state, stamped with the namespace, owner and labels.
type intent struct {
	target

	desiredAtCreation client.Object // desired with the values that Once names, or nil
	leftPaths         []leftPath    // that Release and Once leave to others
	retireSteps       [][]string    // the paths that Retire names
	desiredWithDigest client.Object // desired with its digest, once there is something to send
	checksum          uint64        // checksum of the canonical form of desired
	adopted           bool          // somebody else created the live object
}

// stamp sets the desired state to a copy of desired with namespace, labels and owner.
func (i *intent) stamp(desired client.Object) error {
	i.Desired = i.Kind.ShallowCopy(desired)
	if err := i.readOnce(); err != nil {
		return err
	}
	i.Desired.SetNamespace(i.Subject.Key.Namespace)
	if len(i.labels) > 0 {
		labels := maps.Clone(desired.GetLabels())
		if labels == nil {
			labels = make(map[string]string, len(i.labels))
		}
		maps.Copy(labels, i.labels)
		i.Desired.SetLabels(labels)
	}
	if !i.controlled {
		i.Controller = metav1.GetControllerOfNoCopy(i.Desired)
	} else if err := i.stampOwner(); err != nil {
		return err
	}
	i.splitOnce()
	return nil
}

func (i *intent) stampOwner() error {
	owner, err := i.kinds.Of(i.owner)
	if err != nil {
		return i.unknownKindError("the owner given to ensure.ControlledBy", err)
	}
	yes := new(true)
	controller := metav1.OwnerReference{
		APIVersion:         owner.APIVersion,
		Kind:               owner.GVK.Kind,
		Name:               i.owner.GetName(),
		UID:                i.owner.GetUID(),
		Controller:         yes,
		BlockOwnerDeletion: yes,
	}
	others := i.Desired.GetOwnerReferences()
	refs := append(make([]metav1.OwnerReference, 0, 1+len(others)), controller)
	for _, ref := range others {
		switch {
		case sameOwner(ref, controller):
		case ptr.Deref(ref.Controller, false):
			return i.Subject.Refuse("metadata.ownerReferences", fmt.Sprintf(
				"names another controller, %s %q, than ensure.ControlledBy does", ref.Kind, ref.Name))
		default:
			refs = append(refs, ref)
		}
	}
	i.Desired.SetOwnerReferences(refs)
	i.Controller = &refs[0]
	return nil
}

// forms are buffers for canonical forms. One that a giant object grew is not kept.
var forms = sync.Pool{New: func() any { return new([]byte) }}

const maxKeptForm = 64 << 10

// computeDigest sets the digest of everything that desired specifies, except for a stored digest.
// Mostly, desired is the same as in the pass before, whose record is last. A checksum of its canonical
// form shows that for a tenth of the cost of a digest.
func (i *intent) computeDigest(last memory.Record) error {
	err := i.Operator.Store.Set(i.Desired, "")
	if err == nil {
		err = i.computeChecksum()
	}
	switch {
	case err != nil:
	case last.Digest != "" && last.Checksum == i.checksum:
		i.Digest = last.Digest
	default:
		i.Digest, err = i.digester.Object(i.WithoutIgnored(i.Desired))
	}
	if err != nil {
		return i.digestError(err)
	}
	return nil
}

// computeChecksum sets the checksum of desired. The seed differs in each process, so that nobody can
// construct two desired states with the same checksum; by chance, two have the same once in 2^64.
func (i *intent) computeChecksum() error {
	buffer, _ := forms.Get().(*[]byte)
	defer forms.Put(buffer)
	form, err := canon.AppendObject((*buffer)[:0], i.WithoutIgnored(i.Desired))
	if err != nil {
		return err
	}
	i.checksum = maphash.Bytes(i.seed, form)
	if cap(form) <= maxKeptForm {
		*buffer = form
	}
	return nil
}

// fingerprint returns a digest of the content of live, without the metadata, the status and the fields
// that Once names.
func (i *intent) fingerprint(live client.Object) (string, bool) {
	content, err := canon.AppendContent(nil, i.WithoutIgnored(live))
	if err != nil {
		return "", false
	}
	return contentSum(content), true
}

func contentSum(content []byte) string {
	sum := sha256.Sum256(content)
	return string(sum[:16])
}

// withDigest returns desired with its digest, as it is sent. A pass that sends nothing does not need the
// copy.
func (i *intent) withDigest() (canon.Object, error) {
	if i.desiredWithDigest == nil {
		digest := i.Digest
		if i.adopted {
			digest = layer.AdoptedMark + digest
		}
		stamped := i.Kind.ShallowCopy(i.Desired)
		if err := i.Operator.Store.Set(stamped, digest); err != nil {
			return nil, i.digestError(err)
		}
		i.desiredWithDigest = stamped
	}
	return i.WithoutIgnored(i.desiredWithDigest), nil
}

func (i *intent) digestError(err error) *fault.Error {
	refusal := i.Subject.Refuse("", "cannot compute or store its digest: "+err.Error())
	refusal.Cause = err
	return refusal
}
