// Package globallock implements leader election between the operators of several clusters that share a
// database. A row in the database replaces the Lease.
package globallock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
)

// Table is the name of the table with the row of the lock.
const Table = "postgreswriter_lease"

// timeout is the timeout of each operation. A renewal that takes longer would be too late.
const timeout = 5 * time.Second

// name is the name of the lock. A database has one lock.
const name = "postgreswriter-operator"

var resource = schema.GroupResource{Resource: Table}

// A Lock implements resourcelock.Interface. Like the locks of client-go, a Lock must be used by one elector,
// in one goroutine. Guard is safe for concurrent use.
type Lock struct {
	pool     *pgxpool.Pool
	identity string
	version  int64 // version of the row that was last read or written
	held     prometheus.Gauge
}

var _ resourcelock.Interface = &Lock{}

// New returns the lock in the database of pool. The identity must be unique to the process.
func New(pool *pgxpool.Pool, identity string) *Lock {
	return &Lock{pool: pool, identity: identity, held: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "postgreswriter_global_lock_held",
		Help: "1 if this operator held the global lock when it last read or renewed the lock, else 0.",
	})}
}

// Collector returns the metric of the lock, for a registry.
func (l *Lock) Collector() prometheus.Collector { return l.held }

// observe sets the metric after the holder was read or written.
func (l *Lock) observe(holder string) {
	if holder == l.identity {
		l.held.Set(1)
		return
	}
	l.held.Set(0)
}

// Guard returns an error unless this process holds the lock. Guard locks the row until the transaction ends,
// so that no other process can acquire the lock meanwhile. A process that was frozen, and continues after
// another process has acquired the lock, writes nothing.
func (l *Lock) Guard(ctx context.Context, tx pgx.Tx) error {
	var holder string
	err := tx.QueryRow(ctx, `select holder from `+Table+` where name = $1 for update`, name).Scan(&holder)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && holder != l.identity:
		return database.Inactive(fmt.Errorf("this operator is %s, but %q holds the lock", l.identity, holder))
	case err != nil:
		return fmt.Errorf("cannot check the global lock: %w", err)
	}
	return nil
}

// Get reads the lock. The error is NotFound if no process has ever held the lock.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	record := &resourcelock.LeaderElectionRecord{}
	var acquired, renewed time.Time
	err := l.pool.QueryRow(ctx, `
		select version, holder, lease_seconds, acquired, renewed, transitions from `+Table+` where name = $1`, name).
		Scan(&l.version, &record.HolderIdentity, &record.LeaseDurationSeconds, &acquired, &renewed, &record.LeaderTransitions)
	switch {
	case errors.Is(err, pgx.ErrNoRows), isUndefinedTable(err):
		return nil, nil, apierrors.NewNotFound(resource, name)
	case err != nil:
		return nil, nil, fmt.Errorf("cannot read the global lock: %w", err)
	}
	l.observe(record.HolderIdentity)
	record.AcquireTime, record.RenewTime = metav1.NewTime(acquired), metav1.NewTime(renewed)
	raw, err := json.Marshal(struct {
		*resourcelock.LeaderElectionRecord
		Version int64 // distinguishes renewals in the same second, since times are rounded
	}{record, l.version})
	return record, raw, err
}

// Create creates the lock, and the table if necessary. The error is AlreadyExists if the lock exists.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	created, err := l.insert(ctx, record)
	if isUndefinedTable(err) {
		if err = l.createTable(ctx); err == nil {
			created, err = l.insert(ctx, record)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("cannot create the global lock: %w", err)
	case !created:
		return apierrors.NewAlreadyExists(resource, name)
	}
	l.version = 1
	l.observe(record.HolderIdentity)
	return nil
}

func (l *Lock) insert(ctx context.Context, record resourcelock.LeaderElectionRecord) (bool, error) {
	tag, err := l.pool.Exec(ctx, `
		insert into `+Table+` (name, version, holder, lease_seconds, acquired, renewed, transitions)
		values ($1, 1, $2, $3, $4, $5, $6) on conflict do nothing`,
		name, record.HolderIdentity, record.LeaseDurationSeconds, record.AcquireTime.Time, record.RenewTime.Time,
		record.LeaderTransitions)
	return tag.RowsAffected() > 0, err
}

// createTable creates the table of the lock. The advisory lock serialises concurrent calls, one of which
// would otherwise fail.
func (l *Lock) createTable(ctx context.Context) error {
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtext('postgreswriter: create table'))`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `create table if not exists `+Table+` (
			name text primary key, version bigint not null, holder text not null, lease_seconds integer not null,
			acquired timestamptz not null, renewed timestamptz not null, transitions integer not null)`)
		return err
	})
}

// Update acquires, renews or releases the lock. The error is a Conflict if the lock has changed since this
// process last read or wrote the lock.
//
// Update releases the lock only if this process holds it. An elector that was frozen, and believes that
// it is the leader, reads the lock before the release, and does not check the holder.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	if record.HolderIdentity == "" {
		return l.release(ctx, record)
	}
	tag, err := l.pool.Exec(ctx, `
		update `+Table+` set version = version + 1, holder = $3, lease_seconds = $4, acquired = $5, renewed = $6, transitions = $7
		where name = $1 and version = $2`,
		name, l.version, record.HolderIdentity, record.LeaseDurationSeconds, record.AcquireTime.Time, record.RenewTime.Time,
		record.LeaderTransitions)
	switch {
	case err != nil:
		return fmt.Errorf("cannot renew the global lock: %w", err)
	case tag.RowsAffected() == 0:
		return apierrors.NewConflict(resource, name, errors.New("another process has changed the lock"))
	}
	l.version++
	l.observe(record.HolderIdentity)
	return nil
}

// release releases the lock, and does nothing if another process holds the lock: after a Conflict, the
// elector would retry at once.
func (l *Lock) release(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	_, err := l.pool.Exec(ctx, `
		update `+Table+` set version = version + 1, holder = '', lease_seconds = $3, acquired = $4, renewed = $5, transitions = $6
		where name = $1 and holder = $2`,
		name, l.identity, record.LeaseDurationSeconds, record.AcquireTime.Time, record.RenewTime.Time, record.LeaderTransitions)
	if err != nil {
		return fmt.Errorf("cannot release the global lock: %w", err)
	}
	l.observe("")
	return nil
}

// RecordEvent does nothing, since the elector writes logs.
func (l *Lock) RecordEvent(string) {}

// Identity returns the identity of this process.
func (l *Lock) Identity() string { return l.identity }

// Describe returns the name of the lock for logs.
func (l *Lock) Describe() string { return "the global lock in table " + Table }

func isUndefinedTable(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "42P01"
}
