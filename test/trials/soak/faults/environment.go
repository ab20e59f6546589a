package faults

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/cluster"
	"github.com/trueup-go/trueup/test/harness/operator"
	"github.com/trueup-go/trueup/test/harness/postgres"
)

// An environment holds the resources that the trials share.
type environment struct {
	// left and right stay up; down is the one whose API server is killed.
	left, right, down *controlPlane
	// server stays up; stopped is the one that is stopped.
	server, stopped *postgres.Server
}

// A controlPlane is a control plane with the operator installed.
type controlPlane struct {
	cluster  *cluster.Cluster
	admin    client.Client
	operator operator.Operator
}

func open(ctx context.Context) (*environment, error) {
	e := &environment{}
	group, ctx := errgroup.WithContext(ctx)
	for _, server := range []**postgres.Server{&e.server, &e.stopped} {
		group.Go(func() (err error) { *server, err = postgres.Start(ctx); return err })
	}
	for _, p := range []**controlPlane{&e.left, &e.right, &e.down} {
		group.Go(func() (err error) { *p, err = newPlane(ctx); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// close ends the started processes.
func (e *environment) close() error {
	var errs []error
	for _, p := range []*controlPlane{e.left, e.right, e.down} {
		if p != nil {
			errs = append(errs, p.cluster.Stop())
		}
	}
	for _, server := range []*postgres.Server{e.server, e.stopped} {
		if server != nil {
			errs = append(errs, server.Close())
		}
	}
	return errors.Join(errs...)
}

func newPlane(ctx context.Context) (*controlPlane, error) {
	c, err := cluster.Start(ctx, cluster.Nodes(0))
	if err != nil {
		return nil, err
	}
	p := &controlPlane{cluster: c}
	if err := p.installOperator(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return p, nil
}

func (p *controlPlane) installOperator(ctx context.Context) error {
	installed, err := operator.Install(ctx, p.cluster, "postgreswriter")
	if err != nil {
		return err
	}
	p.operator = *installed
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return err
	}
	config := p.cluster.Config()
	config.UserAgent = "people"
	config.Timeout = requestTimeout
	p.admin, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

// namespace makes one.
func (p *controlPlane) namespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{}
	namespace.Name = name
	if err := p.admin.Create(ctx, namespace); err != nil {
		return fmt.Errorf("cannot create a namespace: %w", err)
	}
	return nil
}
