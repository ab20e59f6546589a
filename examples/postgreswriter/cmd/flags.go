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
	"github.com/trueup-go/trueup/examples/postgreswriter/internal/globallock"
)

// maxTableName is the maximum length of identifiers in PostgreSQL, in bytes. PostgreSQL truncates longer
// identifiers.
const maxTableName = 63

// flags are the flags that only this operator has.
type flags struct {
	tables        []string
	createTables  bool
	clusterName   string
	globalLock    bool
	checkInterval time.Duration
	sweep         bool
	adoptRows     bool
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
		"how often a row is compared with an unchanged PostgresWriter")
	set.BoolVar(&f.sweep, "sweep", false,
		"delete rows of PostgresWriters that do not exist: at once after a deletion without the finalizer, at the start, "+
			"and every ten minutes. "+
			"With --cluster-name, this is always enabled, since keys contain the cluster. Without --cluster-name, every row "+
			"whose key has the form namespace/name is affected, so enable it only if no other program writes such keys")
	set.BoolVar(&f.adoptRows, "adopt-rows", false,
		"overwrite a row that exists before its PostgresWriter carries the finalizer, for example after a restore without "+
			"finalizers. Without this flag, such a row stays as it is, and the PostgresWriter is not ready")
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
