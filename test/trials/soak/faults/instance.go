package faults

import (
	"context"
	"errors"
	"strings"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/operator"
)

// An instance is an operator, its cluster, and the people of this cluster.
type instance struct {
	plane *controlPlane
	// cluster is the operator's --cluster-name, which may be empty.
	cluster string
	users   *userActions
	// role is whom the database takes the operator for.
	role     string
	operator operator.Operator
	args     []string
	process  *operator.Process // nil when none runs
	started  []*operator.Process
}

// start starts the operator without waiting until the operator is ready.
func (p *instance) start() error {
	process, err := p.operator.Run(p.args...)
	if err != nil {
		return err
	}
	p.process, p.started = process, append(p.started, process)
	return nil
}

// kill kills the operator. It fails if the operator has ended before.
func (p *instance) kill() error {
	err := p.process.Kill()
	p.process = nil
	return withoutLog(err)
}

// stop ends a running operator as Kubernetes does.
func (p *instance) stop() error {
	if p.process == nil {
		return nil
	}
	process := p.process
	p.process = nil
	return withoutLog(process.Stop())
}

// withoutLog shortens the error of a process: its log is kept in a file.
func withoutLog(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(err.Error(), "; its log:")
	return errors.New(text)
}

func (p *instance) key(name string) string {
	key := p.users.namespace + "/" + name
	if p.cluster != "" {
		key = p.cluster + "/" + key
	}
	return key
}

func (p *instance) claim(ctx context.Context) (claim, error) {
	c := claim{wanted: map[string]v1.PostgresWriterSpec{}, objects: map[string]object{}}
	live, err := readObjects(ctx, p.plane.admin, p.users.namespace)
	for name, object := range live {
		c.objects[p.key(name)] = object
	}
	for name, spec := range p.users.made() {
		c.wanted[p.key(name)] = spec
	}
	return c, err
}
