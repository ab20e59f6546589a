package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/database"
)

const (
	// tableInterval is how often the tables are checked at least, even if rows are compared less often.
	tableInterval = time.Minute
	// pingInterval is the time between two attempts to reach a database that is down.
	pingInterval = time.Second
	// listTimeout is the timeout of a list, which may wait for the cache to show writes.
	listTimeout = time.Minute
)

// A checker compares all rows with their PostgresWriters at an interval, and wakes the PostgresWriters with work
// to do. The database reports no drift, and the API server no change of a status by somebody else.
type checker struct {
	*Reconciler
	wake chan<- event.TypedGenericEvent[types.NamespacedName]
	// tables describes the tables as the last check found them; nil before the first check.
	tables map[string]string
	// compared is when the rows were compared.
	compared time.Time
	// isBack reports that the database was down before the next check.
	isBack bool
}

// Start implements manager.Runnable. The manager calls it after the leader election.
func (c *checker) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		err := c.check(ctx)
		switch {
		case err == nil:
			c.isBack = c.wait(ctx)
		case ctx.Err() == nil:
			log.FromContext(ctx).Error(err, "cannot compare rows")
			c.isBack = c.awaitDatabase(ctx) || c.isBack
		}
	}
	return nil
}

// wait waits until the next check is due: after an interval, or when the database is back after an outage.
func (c *checker) wait(ctx context.Context) (isBack bool) {
	due := time.After(min(c.options.CheckInterval, tableInterval))
	for !isBack {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return false
		case <-c.rows.Unavailable():
			isBack = c.awaitDatabase(ctx)
		}
	}
	return isBack
}

// awaitDatabase waits until the database answers, and reports whether an answer was missing before. In this case, all
// PostgresWriters are reconciled, so that they report the outage.
func (c *checker) awaitDatabase(ctx context.Context) (wasDown bool) {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pingInterval):
		}
		if c.rows.Ping(ctx) == nil {
			return wasDown
		}
		if !wasDown {
			c.enqueueAll(ctx)
		}
		wasDown = true
	}
}

// enqueueAll has the controller reconcile all PostgresWriters whose row can be in the database.
func (c *checker) enqueueAll(ctx context.Context) {
	writers, err := c.list(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot list PostgresWriters")
	}
	for _, writer := range writers {
		c.enqueue(ctx, client.ObjectKeyFromObject(writer))
	}
}

// check checks the tables and, if the interval is over, the rows.
func (c *checker) check(ctx context.Context) error {
	writers, err := c.list(ctx)
	if err != nil || len(writers) == 0 {
		return err
	}
	began := time.Now()
	var desired []database.Desired
	isDue := c.isBack || began.Sub(c.compared) >= c.options.CheckInterval
	if isDue {
		for _, writer := range writers {
			desired = append(desired, c.desired(writer))
		}
	}
	states := make([]database.State, len(writers))
	tables, err := c.rows.Compare(ctx, desired, func(i int, state database.State) { states[i] = state })
	if err != nil {
		return err
	}
	woken := 0
	for i, writer := range writers {
		if c.hasWork(writer, tables) || isDue && c.needsReconcile(writer, states[i]) {
			woken++
			c.enqueue(ctx, client.ObjectKeyFromObject(writer))
		}
	}
	c.tables = tables
	if isDue {
		c.compared = began
		log.FromContext(ctx).V(1).Info("compared rows", "rows", len(writers), "woken", woken, "seconds", time.Since(began).Seconds())
	}
	return nil
}

// list returns the PostgresWriters whose row can be in the database. They are those of the cache: do not change them.
func (c *checker) list(ctx context.Context) ([]*v1.PostgresWriter, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()

	var all v1.PostgresWriterList
	if err := c.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	writers := make([]*v1.PostgresWriter, 0, len(all.Items))
	for i := range all.Items {
		if writer := &all.Items[i]; c.rows.IsListed(writer.Spec.Table) || c.isClaimed(writer) {
			writers = append(writers, writer)
		}
	}
	return writers, nil
}

func (c *checker) desired(writer *v1.PostgresWriter) database.Desired {
	return database.Desired{Claim: c.claimOf(writer), Row: rowOf(writer), IsClaimed: c.isClaimed(writer)}
}

// hasWork reports whether writer waits for a table that has changed since the last check or was locked, or for a
// database that was unavailable: the tables can be read now.
func (c *checker) hasWork(writer *v1.PostgresWriter, tables map[string]string) bool {
	switch readyOf(writer).Reason {
	case reasonWritten:
		return false
	case database.Unavailable, database.TableLocked:
		return true
	}
	return slices.ContainsFunc([]string{writer.Spec.Table, writer.Status.Table}, func(name string) bool {
		return tables[name] != c.tables[name]
	})
}

// needsReconcile reports whether the row of writer is not as desired, or the status is not up to date. A writer that is not
// ready is retried by the workqueue.
func (c *checker) needsReconcile(writer *v1.PostgresWriter, state database.State) bool {
	ready := readyOf(writer)
	switch {
	case !writer.DeletionTimestamp.IsZero() || state.Err != nil:
		return false
	case !c.isClaimed(writer):
		return ready.Reason == database.RowExists && state.IsFree
	case !isUpToDate(writer, ready) && ready.Status == metav1.ConditionFalse:
		return state.Change == database.Unchanged
	case !isUpToDate(writer, ready):
		return true // somebody has edited the status
	}
	return state.Change != database.Unchanged || len(state.Unchecked) != len(c.claimOf(writer).Unchecked)
}

// isUpToDate reports whether the status says that the row of this generation is written.
func isUpToDate(writer *v1.PostgresWriter, ready metav1.Condition) bool {
	is := writer.Status
	return ready.Status == metav1.ConditionTrue && ready.Reason == reasonWritten && ready.ObservedGeneration == writer.Generation &&
		is.ObservedGeneration == writer.Generation && is.Table == writer.Spec.Table && is.Claimed != nil && is.ID == is.Claimed.Key
}

// readyOf returns the condition Ready, or the zero condition.
func readyOf(writer *v1.PostgresWriter) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(writer.Status.Conditions, v1.ReadyCondition), metav1.Condition{})
}

// enqueue has the controller reconcile a PostgresWriter.
func (c *checker) enqueue(ctx context.Context, writer types.NamespacedName) {
	select {
	case c.wake <- event.TypedGenericEvent[types.NamespacedName]{Object: writer}:
	case <-ctx.Done():
	}
}
