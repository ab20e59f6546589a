package story

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/postgres"
)

// The operator's sample, and the key of its row.
const (
	rowSample = "examples/postgreswriter/config/samples/demo_v1_postgreswriter.yaml"
	student   = "sample-student"
	rowKey    = "default/" + student
)

// noRow stands for a missing row.
const noRow = "none"

// postgresWriter is the story of something outside the cluster.
type postgresWriter struct {
	*story
	server   *postgres.Server
	database *postgres.Database
	rows     int // that came where there was none
}

// PostgresWriter tells of one row in a database of the server. The database has to have a table
// students, created after the operator's start, and no other table. The sample names its namespace,
// default, which has to be the environment's, too.
func PostgresWriter(ctx context.Context, env Env, server *postgres.Server, database *postgres.Database) (Summary, error) {
	s := &postgresWriter{story: &story{Env: env, mainObject: mainObject{
		kind: "PostgresWriter", name: student, work: "row", makes: "row",
		blank:      func() client.Object { return &v1.PostgresWriter{} },
		conditions: func(obj client.Object) []metav1.Condition { return obj.(*v1.PostgresWriter).Status.Conditions },
	}}, server: server, database: database}
	summary, err := s.tell(ctx, []client.ObjectList{&v1.PostgresWriterList{}},
		s.created, s.changed, s.deletedByHand, s.atRest, s.outage, s.deleted)
	summary.Made = s.rows
	return summary, err
}

func (s *postgresWriter) created(ctx context.Context) error {
	s.title("A PostgresWriter is created.")
	began := s.now(ctx)
	if err := s.run(ctx, "apply", "-f", rowSample); err != nil {
		return err
	}
	if err := s.tellRow(ctx, began, "alex, 23, canada"); err != nil {
		return err
	}
	s.rows++
	return nil
}

func (s *postgresWriter) changed(ctx context.Context) error {
	s.title("It is changed.")
	began := s.now(ctx)
	if err := s.change(ctx, `{"spec":{"age":24}}`); err != nil {
		return err
	}
	return s.tellRow(ctx, began, "alex, 24, canada")
}

func (s *postgresWriter) deletedByHand(ctx context.Context) error {
	s.title("Somebody deletes the row. It comes back at the next check, of which the operator has one every two seconds here.")
	const statement = "delete from students"
	s.say("   # %s", statement)
	deleted, err := s.database.Pool.Exec(ctx, statement)
	if err != nil {
		return err
	}
	if deleted.RowsAffected() != 1 {
		return fmt.Errorf("expected to delete 1 row; deleted: %d", deleted.RowsAffected())
	}
	after, err := s.rowBecomes(ctx, "alex, 24, canada")
	if err != nil {
		return err
	}
	s.rows++
	s.fact("row", "back "+after)
	return nil
}

func (s *postgresWriter) atRest(ctx context.Context) error {
	before, err := s.database.Written(ctx)
	if err != nil {
		return err
	}
	if err := s.reconcileUnchanged(ctx); err != nil {
		return err
	}
	after, err := s.database.Written(ctx)
	if err != nil {
		return err
	}
	if after != before {
		return fmt.Errorf("expected nothing to be written; seen: %+v, before that %+v", after, before)
	}
	s.fact("database", "0 statements that write, by its own statistics")
	return nil
}

func (s *postgresWriter) outage(ctx context.Context) error {
	s.title("The database is stopped, the PostgresWriter changed, and the database started again.")
	switch err := s.server.Stop(); { //nolint:contextcheck // a server that is to stop gets the time that takes
	case errors.Is(err, errors.ErrUnsupported):
		s.say("   Skipped: the server that PSQL_HOST names is not ours to stop.")
		return nil
	case err != nil:
		return err
	}
	began := s.now(ctx)
	if err := s.change(ctx, `{"spec":{"country":"norway"}}`); err != nil {
		return err
	}
	if err := s.tellReady(ctx, began, metav1.ConditionFalse, "DatabaseUnavailable"); err != nil {
		return err
	}
	if err := s.server.Restart(ctx); err != nil {
		return err
	}
	return s.tellRow(ctx, began, "alex, 24, norway")
}

func (s *postgresWriter) deleted(ctx context.Context) error {
	s.title("It is deleted. Its finalizer keeps it until the row is gone.")
	began := s.now(ctx)
	if err := s.run(ctx, "delete", "postgreswriter", student); err != nil {
		return err
	}
	err := s.expect(ctx, "the PostgresWriter to be gone", func(context.Context) (string, bool) {
		return "it is there", find(began.seen(), student, gone[*v1.PostgresWriter]) >= 0
	})
	if err != nil {
		return err
	}
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	if row != noRow {
		return fmt.Errorf("expected no row when the PostgresWriter is gone; seen: %s", row)
	}
	s.fact("row", row)
	return s.tellRequests(ctx, began)
}

func (s *postgresWriter) change(ctx context.Context, patch string) error {
	return s.run(ctx, "patch", "postgreswriter", student, "--type=merge", "--patch", patch)
}

// tellRow reports the new row, and the cost of the change.
func (s *postgresWriter) tellRow(ctx context.Context, began checkpoint, expected string) error {
	after, err := s.rowBecomes(ctx, expected)
	if err != nil {
		return err
	}
	s.fact("row", fmt.Sprintf("%s: %s, %s", rowKey, expected, after))
	if err := s.tellReady(ctx, began, metav1.ConditionTrue, "Written"); err != nil {
		return err
	}
	return s.tellRequests(ctx, began)
}

// tellReady reports Ready once it is of the latest generation.
func (s *postgresWriter) tellReady(ctx context.Context, began checkpoint, status metav1.ConditionStatus, reason string) error {
	ready, err := s.becomes(ctx, v1.ReadyCondition, status, reason)
	if err != nil {
		return err
	}
	s.fact("Ready", fmt.Sprintf("%s, %s: %s", ready.Status, ready.Reason, ready.Message))
	// The requests are counted after the end of the reconcile that wrote this.
	return s.expect(ctx, "the end of the reconcile", func(context.Context) (string, bool) {
		return "none", began.reconciled() > 0 || status == metav1.ConditionFalse
	})
}

// rowBecomes waits until the row has this content, and reports how long that took.
func (s *postgresWriter) rowBecomes(ctx context.Context, expected string) (after string, err error) {
	began := time.Now()
	err = s.expect(ctx, "the row to be "+expected, func(ctx context.Context) (string, bool) {
		row, err := s.row(ctx)
		if err != nil {
			return err.Error(), false
		}
		return row, row == expected
	})
	if lasted := time.Since(began).Round(time.Millisecond); lasted > 0 {
		return "after " + lasted.String(), err
	}
	return "at once", err
}

// row returns the main object's row in the database.
func (s *postgresWriter) row(ctx context.Context) (string, error) {
	var row string
	err := s.database.Pool.QueryRow(ctx, `select concat_ws(', ', name, age, country) from students where id = $1`, rowKey).Scan(&row)
	if errors.Is(err, pgx.ErrNoRows) {
		return noRow, nil
	}
	return row, err
}
