package hash

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trueup-go/trueup/internal/canon"
)

// Obj is an API object, such as any client.Object.
type Obj interface {
	metav1.Object
	runtime.Object
}

// prefix is the version of the canonical form and of the algorithm. It changes only if the same
// desired state can get another digest.
const prefix = "v1-"

// Of returns the default digest of any API value: a spec, a list of specs, or the output of a
// template as bytes or string. Of is Default().Of(v).
func Of(v any) (string, error) { return Digester{}.Of(v) }

// Object returns the default digest of everything that obj specifies: namespace and name, labels,
// annotations, owner references, finalizers and content. Object ignores apiVersion and kind, the
// status, fields that only the server sets, and digests in the annotations of DefaultStore. Object
// is Default().Object(obj).
func Object(obj Obj) (string, error) { return Digester{}.Object(obj) }

// Default returns the Digester that the functions Of and Object use. A digest is v1- and 32 hex
// digits: the first 128 bits of SHA-256. The zero Digester is the same.
func Default() Digester { return Digester{} }

// Using returns a Digester whose digests are the plain hex output of the algorithm, such as 40
// digits for ripemd160.New. The Digester reuses the hashes that newHash returns.
//
// With an HMAC, digests of Secrets can be stored where untrusted users read them:
//
//	d := hash.Using(func() stdhash.Hash { return hmac.New(sha256.New, key) })
func Using(newHash func() hash.Hash) Digester {
	return Digester{states: &sync.Pool{New: func() any {
		if newHash == nil {
			return nil
		}
		return newHash()
	}}}
}

// A Digester computes digests with one algorithm. The zero Digester is Default. A Digester is
// safe for concurrent use.
type Digester struct{ states *sync.Pool }

// Of is like the function Of, with d's algorithm. For an API object, Of returns the digest that
// Object returns.
func (d Digester) Of(v any) (string, error) {
	return d.digest(func(dst []byte) ([]byte, error) { return canon.Append(dst, v) }, v)
}

// Object is like the function Object, with d's algorithm.
func (d Digester) Object(obj Obj) (string, error) {
	return d.digest(func(dst []byte) ([]byte, error) { return canon.AppendObject(dst, obj) }, obj)
}

// buffers holds the buffers of canonical forms. A buffer that is larger than maxKept is not
// reused.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxKept = 64 << 10

func (d Digester) digest(appendTo func([]byte) ([]byte, error), v any) (string, error) {
	buffer := buffers.Get().(*[]byte)
	form, err := appendTo((*buffer)[:0])
	if cap(form) <= maxKept {
		*buffer = form
	}
	defer buffers.Put(buffer)
	if err != nil {
		return "", fmt.Errorf("cannot digest %T: %w", v, err)
	}
	if d.states == nil {
		return standard(form), nil
	}
	return d.sum(form)
}

func standard(form []byte) string {
	sum := sha256.Sum256(form)
	var text [len(prefix) + sha256.Size]byte // 128 bits in hex
	copy(text[:], prefix)
	hex.Encode(text[len(prefix):], sum[:sha256.Size/2])
	return string(text[:])
}

func (d Digester) sum(form []byte) (string, error) {
	state, _ := d.states.Get().(hash.Hash)
	if state == nil {
		return "", errors.New("cannot digest without an algorithm: the function given to Using is nil or returns nil")
	}
	defer d.states.Put(state)
	state.Reset()
	if _, err := state.Write(form); err != nil {
		return "", fmt.Errorf("cannot digest: %w", err)
	}
	return hex.EncodeToString(state.Sum(nil)), nil
}
