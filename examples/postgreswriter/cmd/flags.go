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

// maxTableName is the length of PostgreSQL's identifiers, in bytes. PostgreSQL cuts longer ones
// silently.
const maxTableName = 63

// flags are this operator's own.
type flags struct {
	tables        []string
	createTables  bool
	clusterName   string
	globalLock    bool
	checkInterval time.Duration
	sweep         bool
}

func (f *flags) addTo(set *flag.FlagSet) {
	f.tables = []string{"students"}
	set.Func("tables",
		"the `tables` that PostgresWriters may write to, separated by commas; none else is touched (default students)",
		func(value string) (err error) {
			f.tables, err = parseTables(value)
			return err
		})
	set.BoolVar(&f.createTables, "create-tables", false,
		"make those tables that are missing: (id text primary key, name text, age integer, country text)")
	set.Func("cluster-name",
		"`name` of this cluster, unlike that of any other that writes into the database; it becomes part of every row's key",
		func(value string) (err error) {
			f.clusterName, err = parseClusterName(value)
			return err
		})
	set.BoolVar(&f.globalLock, "global-lock", false,
		"wait until no other operator that shares the database is active: by a row in table "+globallock.Table+
			", instead of --leader-elect; an operator that loses it, or the database, ends")
	set.DurationVar(&f.checkInterval, "check-interval", time.Minute,
		"how often a row is compared with its PostgresWriter when nothing happened to that")
	set.BoolVar(&f.sweep, "sweep", false,
		"delete rows, in the tables, whose key is that of a PostgresWriter which is not there: at the start and every ten minutes. "+
			"With --cluster-name this is always so, as keys tell then whose rows they are; without, "+
			"any row counts whose key has the form namespace/name, so give it only if nobody else has such")
}

// check refuses flags that exclude each other.
func (f *flags) check(shared *operator.Flags) error {
	switch {
	case f.globalLock && shared.LeaderElect:
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
