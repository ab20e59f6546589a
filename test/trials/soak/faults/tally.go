package faults

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/postgres"
)

// A Tally is how rows and PostgresWriters compare.
type Tally struct {
	// Objects counts the PostgresWriters of the API servers, and Rows counts the rows of the
	// tables.
	Objects, Rows int
	// Lost are PostgresWriters that people have made and that are not there, are not as they
	// were made, or have no row that equals them.
	Lost int
	// Doubled are rows with a key that another row has as well.
	Doubled int
	// LeftBehind are PostgresWriters that people have deleted and that are still there, and
	// rows of none.
	LeftBehind int
}

// differs returns the differences as an error.
func (t Tally) differs() error {
	if t.Lost == 0 && t.Doubled == 0 && t.LeftBehind == 0 {
		return nil
	}
	return fmt.Errorf("of %d objects and %d rows, %d are lost, %d doubled, %d left behind",
		t.Objects, t.Rows, t.Lost, t.Doubled, t.LeftBehind)
}

// An object is a live PostgresWriter.
type object struct {
	spec    v1.PostgresWriterSpec
	isGoing bool
}

// A claim holds the wishes of the people of one cluster and the objects of its API server, by the
// keys of the rows.
type claim struct {
	wanted  map[string]v1.PostgresWriterSpec
	objects map[string]object
}

func compare(rows map[string][]v1.PostgresWriterSpec, claims ...claim) Tally {
	var t Tally
	for _, c := range claims {
		t.Objects += len(c.objects)
		for key, spec := range c.wanted {
			if c.objects[key] != (object{spec: spec}) || !slices.Contains(rows[key], spec) {
				t.Lost++
			}
		}
		for key := range c.objects {
			if _, ok := c.wanted[key]; !ok {
				t.LeftBehind++
			}
		}
	}
	for key, same := range rows {
		t.Rows += len(same)
		t.Doubled += len(same) - 1
		if !slices.ContainsFunc(claims, func(c claim) bool { _, ok := c.wanted[key]; return ok }) {
			t.LeftBehind += len(same)
		}
	}
	return t
}

// readObjects asks the API server for the PostgresWriters of a namespace.
func readObjects(ctx context.Context, c client.Reader, namespace string) (map[string]object, error) {
	var list v1.PostgresWriterList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the objects: %w", err)
	}
	objects := map[string]object{}
	for i := range list.Items {
		writer := &list.Items[i]
		objects[writer.Name] = object{spec: writer.Spec, isGoing: writer.DeletionTimestamp != nil}
	}
	return objects, nil
}

// readRows reads all rows, by key, at one moment. Before the first there may be no tables.
func readRows(ctx context.Context, db *postgres.Database) (map[string][]v1.PostgresWriterSpec, error) {
	all := map[string][]v1.PostgresWriterSpec{}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, db.Pool, snapshot, func(tx pgx.Tx) error {
		for _, table := range tables {
			if err := readTable(ctx, tx, table, all); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the rows: %w", err)
	}
	return all, nil
}

func readTable(ctx context.Context, tx pgx.Tx, table string, all map[string][]v1.PostgresWriterSpec) error {
	rows, err := tx.Query(ctx, "select id, name, age, country from "+table)
	if err != nil {
		return err
	}
	var key string
	row := v1.PostgresWriterSpec{Table: table}
	_, err = pgx.ForEachRow(rows, []any{&key, &row.Name, &row.Age, &row.Country}, func() error {
		all[key] = append(all[key], row)
		return nil
	})
	return err
}
