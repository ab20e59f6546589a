package together

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/postgres"
)

// tables are the tables that rows are written to, and move between.
var tables = []string{"students", "teachers"}

func postgresWriter() *kind {
	return &kind{
		operator: "postgreswriter",
		// People remove finalizers: the flags keep the rows of these PostgresWriters from being left to nobody.
		args:        []string{"--tables=students,teachers", "--create-tables", "--check-interval=5s", "--adopt-rows", "--sweep"},
		prefix:      "row",
		addToScheme: v1.AddToScheme,
		newOwner:    func() client.Object { return &v1.PostgresWriter{} },
		edit:        editPostgresWriter,
		finalizer:   v1.Finalizer,
		children:    func(client.Object) []manifest { return nil },
		ready:       anyReason(metav1.ConditionTrue),
		status: func(owner client.Object) manifest {
			return manifest{"id": keyOf(owner), "table": owner.(*v1.PostgresWriter).Spec.Table}
		},
		check: compareRows,
		actions: []action{
			{name: "edit the row", do: onRow("update %s set age = age + 1, name = 'somebody else' where id = $1")},
			{name: "delete the row", do: onRow("delete from %s where id = $1")},
			{name: "copy the row into the other table", do: copyRow},
			{name: "move the row into the other table", do: moveRow},
		},
	}
}

func editPostgresWriter(random *rand.Rand, owner client.Object) {
	spec := &owner.(*v1.PostgresWriter).Spec
	spec.Table = pick(random, tables...)
	spec.Name = fmt.Sprintf("%s %d", pick(random, "alex", "Đorđe", "O'Hara", `back\slash`, `"quoted"`, "山田"), random.IntN(1000))
	spec.Age = random.Int32N(201)
	spec.Country = pick(random, "canada", "Österreich", "Côte d'Ivoire", "日本")
}

// keyOf is the primary key of a PostgresWriter's row.
func keyOf(owner client.Object) string { return owner.GetNamespace() + "/" + owner.GetName() }

// onRow returns a statement about the row in its expected table.
func onRow(statement string) actionFunc {
	return func(ctx context.Context, w *worker, o *object, _ *rand.Rand) error {
		return w.exec(ctx, fmt.Sprintf(statement, rowOf(o).Table), keyOf(o.owner))
	}
}

func copyRow(ctx context.Context, w *worker, o *object, _ *rand.Rand) error {
	here := rowOf(o).Table
	there := tables[1-slices.Index(tables, here)]
	return w.exec(ctx, fmt.Sprintf("insert into %s select * from %s where id = $1 on conflict do nothing", there, here), keyOf(o.owner))
}

func moveRow(ctx context.Context, w *worker, o *object, random *rand.Rand) error {
	if err := copyRow(ctx, w, o, random); err != nil {
		return err
	}
	return onRow("delete from %s where id = $1")(ctx, w, o, random)
}

// exec runs a statement as the owner of the database. A statement that finds no row came too late.
func (w *worker) exec(ctx context.Context, statement string, args ...any) error {
	tag, err := w.env.database.Pool.Exec(ctx, statement, args...)
	if err == nil && tag.RowsAffected() == 0 {
		return errTooLate
	}
	return err
}

// A row is a row's content and its table.
type row = v1.PostgresWriterSpec

// rowOf is the row that there is to be for a PostgresWriter.
func rowOf(o *object) row { return o.owner.(*v1.PostgresWriter).Spec }

// readRows reads all rows, by key, at one moment.
func readRows(ctx context.Context, db *postgres.Database) (map[string][]row, error) {
	all := map[string][]row{}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, db.Pool, snapshot, func(tx pgx.Tx) error {
		var errs []error
		for _, table := range tables {
			errs = append(errs, readTable(ctx, tx, table, all))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the rows: %w", err)
	}
	return all, nil
}

func readTable(ctx context.Context, tx pgx.Tx, table string, all map[string][]row) error {
	rows, err := tx.Query(ctx, "select id, name, age, country from "+table)
	if err != nil {
		return err
	}
	var key string
	is := row{Table: table}
	_, err = pgx.ForEachRow(rows, []any{&key, &is.Name, &is.Age, &is.Country}, func() error {
		all[key] = append(all[key], is)
		return nil
	})
	return err
}

// compareRows names the rows that differ from the PostgresWriters.
func compareRows(s *clusterState, objects []*object) []string {
	var found []string
	wanted := map[string]bool{}
	for _, o := range objects {
		if o.isGone {
			continue
		}
		key := keyOf(o.owner)
		wanted[key] = true
		if is := s.rows[key]; !slices.Equal(is, []row{rowOf(o)}) {
			found = append(found, fmt.Sprintf("the rows of %s are %v, not %v", key, is, rowOf(o)))
		}
	}
	for key, is := range s.rows {
		if !wanted[key] {
			found = append(found, fmt.Sprintf("the rows %v of %s are left behind", is, key))
		}
	}
	return found
}
