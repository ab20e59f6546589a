package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trueup-go/trueup/test/harness/cluster/internal/binaries"
	"github.com/trueup-go/trueup/test/harness/storage"
)

// socketLimit is how long the path of a socket can be on every system.
const socketLimit = 103

// dependents end by themselves when they lose the component.
func dependents(component Component) []Component {
	if component == StorageDriver {
		return []Component{Provisioner, Resizer}
	}
	return nil
}

// sidecarFlags are the common flags of Provisioner and Resizer. They shorten the retry intervals,
// by default up to 5 minutes, so that a test need not wait.
func (c *Cluster) sidecarFlags(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--csi-address=" + c.driverSocket(),
		"--leader-election=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		"--retry-interval-start=200ms",
		"--retry-interval-max=2s",
	}
}

func provisionerFlags() []string {
	return []string{"--worker-threads=10", "--snapshot-orphan-sweep-interval=0"}
}

// resizerFlags let a call that hangs end soon.
func resizerFlags() []string {
	return []string{"--workers=10", "--timeout=2s"}
}

// driverSocket is absolute: the sidecars take nothing else.
func (c *Cluster) driverSocket() string {
	return filepath.Join(c.Dir(), storage.SocketFile)
}

// AddStorage adds the storage of [WithStorage] to a running cluster. Missing programs are built,
// with a message on standard error. Call AddStorage at most once, and only for a cluster without
// storage.
func (c *Cluster) AddStorage(ctx context.Context) error {
	programs, err := binaries.Build(ctx, os.Stderr, binaries.Storage()...)
	if err != nil {
		return err
	}
	c.faults.mu.Lock()
	maps.Copy(c.programs, programs)
	c.faults.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
	defer cancel()
	if err := c.startStorage(ctx); err != nil {
		return fmt.Errorf("cannot add storage: %w", err)
	}
	return nil
}

// startStorage starts the components of storage.
func (c *Cluster) startStorage(ctx context.Context) error {
	if socket := c.driverSocket(); len(socket) > socketLimit {
		return fmt.Errorf("cannot name a socket %s: more than %d bytes", socket, socketLimit)
	}
	if err := c.createClasses(ctx); err != nil {
		return err
	}
	if err := c.run(StorageDriver); err != nil {
		return err
	}
	// If they started first, they would poll for the driver once a second.
	if err := c.until(ctx, "the storage driver", c.driverReady); err != nil {
		return err
	}
	return c.run(Provisioner, Resizer)
}

// createClasses creates the driver's object, without which volumes would wait to be
// attached to nodes, and the storage classes. They bind at once, as most tests of
// claims have no pods.
func (c *Cluster) createClasses(ctx context.Context) error {
	driver := &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: storage.Driver},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: new(false)},
	}
	if _, err := c.clients.StorageV1().CSIDrivers().Create(ctx, driver, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cannot create the CSIDriver: %w", err)
	}
	expandable, fixed := storageClass(storage.ExpandableClass), storageClass(storage.FixedClass)
	expandable.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	expandable.AllowVolumeExpansion = new(true)
	for _, class := range []*storagev1.StorageClass{expandable, fixed} {
		if _, err := c.clients.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("cannot create StorageClass %s: %w", class.Name, err)
		}
	}
	return nil
}

func storageClass(name string) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: name},
		Provisioner:       storage.Driver,
		ReclaimPolicy:     new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: new(storagev1.VolumeBindingImmediate),
	}
}

// driverReady is the condition that the driver listens.
func (c *Cluster) driverReady(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", c.driverSocket())
	if err != nil {
		return err
	}
	return connection.Close()
}

// driverAtWork waits for the driver, and starts the components that ended with the driver.
func (c *Cluster) driverAtWork(ctx context.Context) error {
	if err := c.until(ctx, "the storage driver", c.driverReady); err != nil {
		return err
	}
	for _, dependent := range dependents(StorageDriver) {
		if err := c.startAgain(dependent); err != nil {
			return err
		}
		if err := c.atWork(ctx, dependent); err != nil {
			return err
		}
	}
	return nil
}
