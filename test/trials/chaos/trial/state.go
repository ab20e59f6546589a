package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trueup-go/trueup/test/harness/postgres"
	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// A state has all objects and rows, at about one moment.
type state struct {
	objects map[owners.Ref]*unstructured.Unstructured
	byUID   map[types.UID]*unstructured.Unstructured
	rows    map[string][]owners.Row
}

// look reads the objects of the namespaces and the rows of the database.
func (e *environment) look(ctx context.Context) (*state, error) {
	s := &state{objects: map[owners.Ref]*unstructured.Unstructured{}, byUID: map[types.UID]*unstructured.Unstructured{}}
	for kind := range owners.Kinds {
		if err := e.list(ctx, s, kind); err != nil {
			return nil, err
		}
	}
	var err error
	s.rows, err = readRows(ctx, e.database)
	return s, err
}

func (e *environment) list(ctx context.Context, s *state, kind string) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(owners.Kinds[kind])
	if err := e.admin.List(ctx, list); err != nil {
		return fmt.Errorf("cannot list every %s: %w", kind, err)
	}
	for i := range list.Items {
		obj := &list.Items[i]
		if slices.Contains(e.namespaces, obj.GetNamespace()) {
			s.objects[owners.Ref{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}] = obj
			s.byUID[obj.GetUID()] = obj
		}
	}
	return nil
}

// readRows reads all rows, by key, at one moment.
func readRows(ctx context.Context, db *postgres.Database) (map[string][]owners.Row, error) {
	all := map[string][]owners.Row{}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, db.Pool, snapshot, func(tx pgx.Tx) error {
		var errs []error
		for _, table := range owners.Tables {
			errs = append(errs, readTable(ctx, tx, table, all))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the rows: %w", err)
	}
	return all, nil
}

func readTable(ctx context.Context, tx pgx.Tx, table string, all map[string][]owners.Row) error {
	rows, err := tx.Query(ctx, "select id, name, age, country from "+table)
	if err != nil {
		return err
	}
	var key string
	is := owners.Row{Table: table}
	_, err = pgx.ForEachRow(rows, []any{&key, &is.Name, &is.Age, &is.Country}, func() error {
		all[key] = append(all[key], is)
		return nil
	})
	return err
}
