package postgreswriter_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVanished deletes a PostgresWriter without its finalizer while the operator runs. With --sweep
// or --cluster-name, the row is deleted, too.
func TestVanished(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args    []string
		cluster string
		stays   bool
	}{
		"without a flag":    {stays: true},
		"with sweep":        {args: []string{"--sweep"}},
		"with cluster name": {args: []string{"--cluster-name=blue"}, cluster: "blue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, server, "students")
			d.exec(t, "create function object() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$; "+
				"create trigger t before delete on students for each row execute function object()")
			f := newFixtureWithOwnOperator(t, d, test.args...)
			f.cluster = test.cluster
			f.create(t)
			f.settle(t)
			f.delete(t)
			require.Contains(t, f.waitForReason(t, "Refused").Message, "P0001", "so that the operator is not the one to let it go")
			d.exec(t, "drop trigger t on students")
			require.Equal(t, []string{f.key()}, d.keys(t, "students"))
			f.setFinalizers(t, "null")
			f.waitUntilGone(t)
			if !test.stays {
				f.waitForRow(t, "students", nil)
				return
			}
			other := f.withName("berta") // is handled after the deletion
			other.create(t)
			other.settle(t)
			require.Equal(t, alex, d.rows(t, "students")[f.key()])
			f.create(t) // and the next one of the name does not get the row
			f.waitForReason(t, "RowExists")
		})
	}
}

// TestSweep deletes PostgresWriters while no operator runs. Their rows are deleted once an operator
// runs that can identify their owners; rows of other owners stay.
func TestSweep(t *testing.T) {
	others := []string{"stranger", "", "/", "a/", "/a", "a/b/c", "A/b", "a/B", "a b/c", " a/b", "ünï/cödé", "'; drop table students; --"}
	for name, sweep := range map[string]struct {
		args []string
		// cluster names the cluster of the PostgresWriters; also lists more keys, of other owners.
		// NS stands for the namespace.
		cluster string
		also    []string
	}{
		"by the flag": {args: []string{"--sweep"}, also: []string{"green/NS/a", "elsewhere/a"}},
		"by cluster names": {
			args: []string{"--cluster-name=blue"}, cluster: "blue", also: []string{"green/NS/a", "NS/a", "bluer/NS/a", "blue/elsewhere/a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, server, "students", "teachers")
			f := fixture{database: d, namespace: shared.Namespace(t), name: "alex", cluster: sweep.cluster}
			args := append([]string{"--tables=students,teachers", "--watch-namespace", f.namespace}, sweep.args...)
			f.operator = start(t, d, args...)
			f.create(t)
			f.settle(t)
			gone := f.withName("gone")
			gone.create(t)
			gone.waitUntilReady(t)
			require.NoError(t, f.operator.Stop())

			gone.setFinalizers(t, "null")
			gone.delete(t)
			gone.waitUntilGone(t)
			var stay []string
			for _, key := range slices.Concat(others, sweep.also) {
				key = strings.ReplaceAll(key, "NS", f.namespace)
				stay = append(stay, key)
				d.insert(t, "students", key, alex)
				d.insert(t, "teachers", key, alex)
			}
			last := f.withName("z.last") // is found after the others
			d.insert(t, "students", last.key(), alex)
			d.insert(t, "teachers", last.key(), alex)

			process := start(t, d, args...)
			gone.waitForRow(t, "students", nil)
			last.waitForRow(t, "students", nil)
			last.waitForRow(t, "teachers", nil)
			eventually(t, func(context.Context) error {
				deleted := len(process.Entries("deleted row"))
				return expect(deleted == 2, "it has deleted rows of %d", deleted)
			})
			require.ElementsMatch(t, stay, d.keys(t, "teachers"))
			require.ElementsMatch(t, append(stay, f.key()), d.keys(t, "students"))
		})
	}
}

// TestNoSweep has rows of PostgresWriters that are gone met by an operator that cannot know
// whose they are.
func TestNoSweep(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, "students")
	f := fixture{database: d, namespace: shared.Namespace(t), name: "alex"}
	gone := f.withName("gone")
	d.insert(t, "students", gone.key(), alex)
	f.operator = start(t, d, "--watch-namespace", f.namespace, "--check-interval=1s")
	gone.operator = f.operator
	f.create(t)
	f.settle(t)
	f.waitForRounds(t, 2)
	require.ElementsMatch(t, []string{gone.key(), f.key()}, d.keys(t, "students"))

	gone.create(t)
	gone.waitForReason(t, "RowExists")
	gone.delete(t)
	gone.waitUntilGone(t)
	require.ElementsMatch(t, []string{gone.key(), f.key()}, d.keys(t, "students"))
}
