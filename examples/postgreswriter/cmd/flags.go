package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trueup-go/trueup/examples/internal/operator"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/controller"
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/globallock"
)

// maxTableName is the maximum length of identifiers in PostgreSQL, in bytes. PostgreSQL truncates longer
// identifiers.
const maxTableName = 63

// maxWorkers is as many as there are connections by default in PostgreSQL.
const maxWorkers = 100

// flags are the flags that only this operator has.
type flags struct {
	tables        []string
	createTables  bool
	clusterName   string
	globalLock    bool
	checkInterval time.Duration
	workers       int
	sweep         bool
	adoptRows     []string // namespaces and keys
}

func (f *flags) addTo(set *flag.FlagSet) {
	f.tables = []string{"students"}
	set.Func("tables",
		"the `tables` that PostgresWriters may write to, separated by commas; the operator uses no other tables (default students)",
		func(value string) (err error) {
			f.tables, err = parseTables(value)
			return err
		})
	set.BoolVar(&f.createTables, "create-tables", false,
		"create missing tables: (id text primary key, name text, age integer, country text)")
	set.Func("cluster-name",
		"`name` of this cluster, unique among the clusters that share the database; the key of every row contains the name",
		func(value string) (err error) {
			f.clusterName, err = parseClusterName(value)
			return err
		})
	set.BoolVar(&f.globalLock, "global-lock", false,
		"wait until no other operator that shares the database is active, instead of --leader-elect. The lock is a row in table "+
			globallock.Table+"; an operator that loses the lock or the database exits")
	set.DurationVar(&f.checkInterval, "check-interval", time.Minute,
		"how often all rows are compared with the PostgresWriters")
	set.IntVar(&f.workers, "workers", 4, "how many PostgresWriters are reconciled at the same time, each with a connection to the database")
	set.BoolVar(&f.sweep, "sweep", false,
		"delete rows of PostgresWriters that do not exist: at once after a deletion without the finalizer, at the start, "+
			"and every ten minutes. "+
			"With --cluster-name, this is always enabled, since keys contain the cluster. Without --cluster-name, every row "+
			"whose key has the form namespace/name is affected, so enable it only if no other program writes such keys")
	set.Func("adopt-rows",
		"`namespaces or keys` of PostgresWriters that may overwrite a row that exists and that they have not claimed, separated by "+
			"commas, for example after a restore. Other rows stay as they are, and their PostgresWriters are not ready",
		func(value string) error {
			f.adoptRows = strings.Split(value, ",")
			return nil
		})
}

// check returns an error for invalid combinations and values of flags.
func (f *flags) check(shared *operator.Options) error {
	switch {
	case f.globalLock && shared.LeaderElection:
		return errors.New("--global-lock takes the place of --leader-elect: give one of them")
	case len(shared.ChildLabels) > 0:
		return errors.New("--child-labels: PostgresWriters have no children in the cluster")
	case f.checkInterval < time.Second:
		return fmt.Errorf("--check-interval is %s: give a second at least", f.checkInterval)
	case f.workers < 1 || f.workers > maxWorkers:
		return fmt.Errorf("--workers is %d: give 1 to %d", f.workers, maxWorkers)
	}
	return f.checkAdoptRows()
}

// checkAdoptRows returns an error for an entry that no PostgresWriter of this cluster can match. In earlier releases,
// the flag was true or false.
func (f *flags) checkAdoptRows() error {
	for _, entry := range f.adoptRows {
		if entry == "true" || entry == "false" || !controller.IsNamespaceOrKey(entry, f.clusterName) {
			return fmt.Errorf("--adopt-rows: %q is neither a namespace nor a key of this cluster: give a list such as %s",
				entry, "shop,"+strings.TrimPrefix(f.clusterName+"/", "/")+"default/sample-student")
		}
	}
	return nil
}

func parseTables(value string) ([]string, error) {
	tables := strings.Split(value, ",")
	for i, table := range tables {
		switch {
		case table == "":
			return nil, errors.New("a table without a name")
		case len(table) > maxTableName:
			return nil, fmt.Errorf("%q has %d bytes, and tables' names have %d at most", table, len(table), maxTableName)
		case strings.ContainsRune(table, 0):
			return nil, fmt.Errorf("%q has a NUL", table)
		case table == globallock.Table:
			return nil, fmt.Errorf("%q holds the global lock", table)
		case slices.Contains(tables[:i], table):
			return nil, fmt.Errorf("table %q is given twice", table)
		}
	}
	return tables, nil
}

func parseClusterName(value string) (string, error) {
	if problems := validation.IsDNS1123Label(value); value != "" && len(problems) > 0 {
		return "", fmt.Errorf("not the name of a cluster: %s", strings.Join(problems, "; "))
	}
	return value, nil
}
