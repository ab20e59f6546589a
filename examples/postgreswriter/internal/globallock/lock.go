// Package globallock elects one operator among those of several clusters that share a database, by a row in
// the database, as a Lease does in one cluster.
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
)

// Table holds the lock's row.
const Table = "postgreswriter_lease"

// timeout bounds each attempt; a renewal that takes longer is as good as none.
const timeout = 5 * time.Second

// name is the lock's. A database has one.
const name = "postgreswriter-operator"

var resource = schema.GroupResource{Resource: Table}

// A Lock is a resourcelock.Interface. Like the locks of client-go, a Lock is for one elector, which
// calls its methods from one goroutine. Other goroutines may call Guard meanwhile.
type Lock struct {
	pool     *pgxpool.Pool
	identity string
	version  int64 // of the row that was read or written last
}

var _ resourcelock.Interface = &Lock{}

// New returns the lock in the database of pool. The identity has to be another for each
// process.
func New(pool *pgxpool.Pool, identity string) *Lock {
	return &Lock{pool: pool, identity: identity}
}

// Guard fails a transaction unless this process holds the lock, and keeps the lock from changing
// hands until the transaction ends: an operator that wants to take the lock waits for its row. So a
// holder that was frozen and comes back after another took over writes nothing.
func (l *Lock) Guard(ctx context.Context, tx pgx.Tx) error {
	var holder string
	err := tx.QueryRow(ctx, `select holder from `+Table+` where name = $1 for update`, name).Scan(&holder)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && holder != l.identity:
		return database.Inactive(fmt.Errorf("it is %s, and %q has the lock", l.identity, holder))
	case err != nil:
		return fmt.Errorf("cannot check the global lock: %w", err)
	}
	return nil
}

// Get reads the lock. The error is NotFound if nobody ever held the lock.
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
	record.AcquireTime, record.RenewTime = metav1.NewTime(acquired), metav1.NewTime(renewed)
	raw, err := json.Marshal(struct {
		*resourcelock.LeaderElectionRecord
		Version int64 // times are to the second, and a renewal may come sooner
	}{record, l.version})
	return record, raw, err
}

// Create creates the lock, and its table if necessary. The error is AlreadyExists if somebody else
// was faster.
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
		return fmt.Errorf("cannot make the global lock: %w", err)
	case !created:
		return apierrors.NewAlreadyExists(resource, name)
	}
	l.version = 1
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

// createTable has those that come at the same time take turns: otherwise one of them would
// fail in the catalog.
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

// Update takes the lock over, renews it or gives it up. The error is a Conflict if the lock changed
// since it was read or written last.
//
// Only a lock that this process holds is given up. An elector that was frozen, and believes that it
// leads, reads the lock before giving it up, and does not check the holder.
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
		return apierrors.NewConflict(resource, name, errors.New("somebody else has written it"))
	}
	l.version++
	return nil
}

// release gives the lock up, and does nothing if another process holds the lock. A Conflict would
// make the elector try again at once.
func (l *Lock) release(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	_, err := l.pool.Exec(ctx, `
		update `+Table+` set version = version + 1, holder = '', lease_seconds = $3, acquired = $4, renewed = $5, transitions = $6
		where name = $1 and holder = $2`,
		name, l.identity, record.LeaseDurationSeconds, record.AcquireTime.Time, record.RenewTime.Time, record.LeaderTransitions)
	if err != nil {
		return fmt.Errorf("cannot give up the global lock: %w", err)
	}
	return nil
}

// RecordEvent does nothing: the elector writes logs.
func (l *Lock) RecordEvent(string) {}

// Identity is this process's.
func (l *Lock) Identity() string { return l.identity }

// Describe names the lock in logs.
func (l *Lock) Describe() string { return "the global lock in table " + Table }

func isUndefinedTable(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == "42P01"
}
