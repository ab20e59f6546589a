package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// globalLock is the flag with which the operator of PostgresWriters elects a leader in the database.
const globalLock = "--global-lock"

// An operatorPair is an operator, and for some time a second instance beside it.
type operatorPair struct {
	kind      *owners.Kind
	installed *operator.Operator
	// earlier is a build of an earlier commit; nil if there is none.
	earlier      *operator.Operator
	main, double *instance
}

// newPair installs the operator, which does not run yet. Both instances take part in the leader election if the operator
// has one; otherwise both reconcile.
func (e *environment) newPair(k *owners.Kind, installed, earlier *operator.Operator) (*operatorPair, error) {
	args := append([]string{}, k.Args...)
	switch {
	case k.Name() == "PostgresWriter":
		// People recreate PostgresWriters whose rows were left behind.
		args = append(args, globalLock, "--adopt-rows="+strings.Join(e.namespaces, ","))
	case k.Lease != "":
		args = append(args, "--leader-elect", "--leader-election-namespace="+installed.Namespace)
	}
	main, err := newInstance(installed, &e.findings, args...)
	if err != nil {
		return nil, err
	}
	if k.Name() == "Application" { // the instance that started last would convert Applications, and then end
		args = append(args, "--webhook-bind-address=0")
	}
	double, err := newInstance(installed, &e.findings, args...)
	return &operatorPair{kind: k, installed: installed, earlier: earlier, main: main, double: double}, err
}

func (p *operatorPair) isElected() bool {
	return p.kind.Lease != "" || p.kind.Name() == "PostgresWriter"
}

// faults returns the faults of the operator. Each may begin while it starts.
func (p *operatorPair) faults() []choice {
	choices := []choice{
		{"killed", 0, time.Second, func(_ context.Context, _ *environment, last lasting) error {
			p.main.kill()
			return last()
		}},
		{"paused", 2 * time.Second, 12 * time.Second, func(_ context.Context, _ *environment, last lasting) error { return p.pause(last) }},
		{"doubled", 4 * time.Second, 12 * time.Second, func(_ context.Context, _ *environment, last lasting) error {
			p.double.start()
			defer p.double.stop()
			return last()
		}},
		{"paused beside a double", 4 * time.Second, 12 * time.Second, func(_ context.Context, _ *environment, last lasting) error {
			p.double.start()
			defer p.double.stop()
			return p.pause(last)
		}},
	}
	if p.earlier != nil {
		choices = append(choices, choice{
			"replaced by an earlier build", 5 * time.Second, 15 * time.Second,
			func(_ context.Context, _ *environment, last lasting) error {
				p.main.replace(p.earlier)
				defer p.main.replace(p.installed)
				return last()
			},
		})
	}
	if p.isElected() {
		choices = append(choices,
			choice{"leader election lost", 0, time.Second, p.loseElection},
			choice{
				"killed beside a double", 4 * time.Second, 15 * time.Second,
				func(_ context.Context, _ *environment, last lasting) error {
					p.double.start()
					defer p.double.stop()
					p.main.kill()
					return last()
				},
			})
	}
	return choices
}

func (p *operatorPair) pause(last lasting) error {
	resume, err := p.main.freeze()
	return errors.Join(err, last(), resume())
}

// loseElection has somebody else hold the lease.
func (p *operatorPair) loseElection(ctx context.Context, e *environment, last lasting) error {
	const thief = "somebody-else"
	if p.kind.Lease == "" {
		return errors.Join(e.exec(ctx, "update postgreswriter_lease set version = version + 1, holder = '"+thief+"'"), last())
	}
	lease := &coordinationv1.Lease{}
	lease.Namespace, lease.Name = p.installed.Namespace, p.kind.Lease
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"holderIdentity":"`+thief+`"}}`))
	err := client.IgnoreNotFound(persist(ctx, func(ctx context.Context) error { return e.admin.Patch(ctx, lease, patch) }))
	if err != nil {
		return fmt.Errorf("cannot take the lease: %w", err)
	}
	return last()
}

func (p *operatorPair) close() {
	p.double.stop()
	p.main.stop()
	p.double.metrics.Release()
	p.main.metrics.Release()
}
