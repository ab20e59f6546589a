// Command route calls ensure.Object for a Deployment, at rest and after somebody changed its replicas from 2 to 7,
// and writes the coverage counters of these passes into folders of their own: route <folder>.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/coverage"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/ensure"
	"github.com/trueup-go/trueup/ensure/ensuretest"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner"}}
	c := ensuretest.NewClient(scheme.Scheme, owner)
	if err := c.Get(ctx, client.ObjectKeyFromObject(owner), owner); err != nil {
		return fmt.Errorf("cannot read the owner: %w", err)
	}
	e := ensure.New(c, c.APIReader(), "operator")
	pass := func(want ensure.Operation) error {
		result, err := ensure.Object(ctx, e, deployment(2), ensure.ControlledBy(owner))
		if err == nil && result.Operation != want {
			err = fmt.Errorf("a pass ended with %s instead of %s", result.Operation, want)
		}
		return err
	}
	edit := func() error { // as a user does
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":7}}`))
		return c.Patch(ctx, deployment(2), patch, client.FieldOwner("kubectl-edit"))
	}
	for _, step := range []func() error{
		func() error { return pass(ensure.Created) },
		func() error { return pass(ensure.Unchanged) },
		coverage.ClearCounters,
		func() error { return pass(ensure.Unchanged) },
		func() error { return write(filepath.Join(dir, "rest")) },
		edit,
		coverage.ClearCounters,
		func() error { return pass(ensure.Updated) },
		func() error { return write(filepath.Join(dir, "drift")) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// write writes the counters, and which lines they stand for.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot create a folder: %w", err)
	}
	return errors.Join(coverage.WriteCountersDir(dir), coverage.WriteMetaDir(dir))
}

func deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1.29"}}},
			},
		},
	}
}
