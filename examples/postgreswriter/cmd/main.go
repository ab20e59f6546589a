// Postgreswriter-operator reconciles PostgresWriters: it writes their rows into a PostgreSQL database.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/controller"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/globallock"
)

// lease is the name of the lease for leader election. config/rbac contains the same name.
const lease = "postgreswriter-operator.demo.yash.com"

// connections are the connections of the pool besides those of the workers: for the lock, the sweeper, the checker and
// the readiness check.
const connections = 4

// lockLost is the text of the error of controller-runtime's manager, which has no type.
const lockLost = "leader election lost"

func main() {
	operator.Exit(controller.Name, run(ctrl.SetupSignalHandler(), os.Args[1:]))
}

func run(ctx context.Context, args []string) error {
	own := &flags{}
	options, err := operator.ParseFlags(controller.Name, args, os.Stdout, own.addTo)
	if err != nil {
		return err
	}
	if err := own.check(options); err != nil {
		return err
	}
	settings, err := database.FromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	pool, err := database.Open(ctx, settings, controller.Name, int32(own.workers)+connections)
	if err != nil {
		return err
	}
	defer pool.Close()

	rowOptions := database.Options{Tables: own.tables, Create: own.createTables}
	options.Scheme, options.LeaderElectionID = runtime.NewScheme(), lease
	utilruntime.Must(v1.AddToScheme(options.Scheme))
	if own.globalLock {
		lock, err := newLock(pool, own.clusterName)
		if err != nil {
			return err
		}
		options.LeaderElection, options.LeaderElectionResourceLockInterface, rowOptions.Guard = true, lock, lock.Guard
		metrics.Registry.MustRegister(lock.Collector())
	}

	mgr, err := operator.NewManager(options)
	if err != nil {
		return err
	}
	mgr.GetLogger().Info("will write rows", "into", settings.String(), "tables", own.tables)
	if lock := options.LeaderElectionResourceLockInterface; lock != nil {
		mgr.GetLogger().Info("will write only with the global lock", "identity", lock.Identity())
	}
	rows := database.NewRows(pool, rowOptions)
	metrics.Registry.MustRegister(rows.Collectors()...)
	if err := mgr.AddReadyzCheck("database", func(request *http.Request) error { return rows.Ping(request.Context()) }); err != nil {
		return err
	}
	reconciler := controller.New(mgr, rows, controller.Options{
		ClusterName:    own.clusterName,
		CheckInterval:  own.checkInterval,
		Workers:        own.workers,
		AdoptRows:      own.adoptRows,
		Sweep:          own.sweep || own.clusterName != "",
		WatchNamespace: options.WatchNamespace,
	})
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return err
	}
	err = mgr.Start(ctx)
	if own.globalLock && err != nil && err.Error() == lockLost {
		err = fmt.Errorf("%w: an operator without the global lock may not write, so it stops; after a restart, it waits for the lock. "+
			"Either another operator took over or %s could not be reached", err, settings)
	}
	return err
}

// newLock returns a lock whose identity is unique to this process and contains the name of the cluster.
func newLock(pool *pgxpool.Pool, cluster string) (*globallock.Lock, error) {
	pod, err := os.Hostname()
	if err != nil {
		return nil, errors.New("cannot determine the host name, which is part of the identity of the global lock's holder")
	}
	identity := pod + "_" + string(uuid.NewUUID())
	if cluster != "" {
		identity = cluster + "/" + identity
	}
	return globallock.New(pool, identity), nil
}
