package scale

import (
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// A pass is one successful reconcile of each owner, begun after the pass was.
type pass struct {
	// done is closed at the end of the pass. Only then may err be read, the first error other than
	// a conflict.
	done chan struct{}
	err  error

	mu      sync.Mutex
	waiting map[types.NamespacedName]bool
	left    int
}

func newPass(owners []types.NamespacedName) *pass {
	p := &pass{done: make(chan struct{}), waiting: make(map[types.NamespacedName]bool, len(owners)), left: len(owners)}
	for _, owner := range owners {
		p.waiting[owner] = true
	}
	return p
}

// take reports whether the reconcile that begins is the one that owner waits for.
func (p *pass) take(owner types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.waiting[owner]
	delete(p.waiting, owner)
	return taken
}

// finish ends a reconcile that was taken. One that met a conflict comes again.
func (p *pass) finish(owner types.NamespacedName, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.left == 0: // it is over
	case apierrors.IsConflict(err):
		p.waiting[owner] = true
	case err != nil:
		p.err, p.left = err, 0
		close(p.done)
	default:
		if p.left--; p.left == 0 {
			close(p.done)
		}
	}
}
