package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/postgres"
)

// A fixture holds one trial: a database, operators that write to this database, and the findings so
// far.
type fixture struct {
	ctx    context.Context //nolint:containedctx // a fixture is one trial, and nothing of it outlives the trial
	env    *environment
	plan   Plan
	random *rand.Rand
	result Result

	database  *postgres.Database
	instances []*instance
}

// prepare makes the database, with empty tables.
func (f *fixture) prepare(server *postgres.Server) error {
	var err error
	if f.database, err = server.CreateDatabase(f.ctx); err != nil {
		return err
	}
	for _, table := range tables {
		err := f.exec("create table " + table + " (id text primary key, name text, age integer, country text)")
		if err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement as the owner of the database.
func (f *fixture) exec(statement string) error {
	if _, err := f.database.Pool.Exec(f.ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// addInstance creates an instance with a database role of its own, and a namespace named after the database,
// which no other trial uses. People may work in several clusters.
func (f *fixture) addInstance(p *controlPlane, cluster string, args ...string) (*instance, error) {
	namespace := strings.ReplaceAll(f.database.Name, "_", "-")
	if err := p.namespace(f.ctx, namespace); err != nil {
		return nil, err
	}
	role := fmt.Sprintf("%s_%d", f.database.Name, len(f.instances))
	if err := f.createRole(role); err != nil {
		return nil, err
	}
	args = append(args, "--tables="+strings.Join(tables, ","), "--watch-namespace="+namespace)
	if cluster == "" {
		args = append(args, "--sweep")
	} else {
		args = append(args, "--cluster-name="+cluster)
	}
	added := &instance{
		plane: p, cluster: cluster, role: role, operator: p.operator, args: args,
		users: newUserActions(f.random, f.plan.Creations, f.plan.Deletions, namespace, p.admin),
	}
	// Of a variable that is given twice the last counts.
	added.operator.Env = append(f.database.Environment(), "PSQL_USER="+role, "PSQL_PASSWORD="+role)
	f.instances = append(f.instances, added)
	return added, nil
}

// createRole creates a role with the rights of an operator.
func (f *fixture) createRole(role string) error {
	for _, statement := range []string{
		fmt.Sprintf("create role %s login password '%s'", role, role),
		"grant create on schema public to " + role,
		fmt.Sprintf("grant select, insert, update, delete on %s to %s", strings.Join(tables, ", "), role),
	} {
		if err := f.exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// onlyInstance prepares a trial of one operator.
func (f *fixture) onlyInstance(server *postgres.Server, p *controlPlane) (*instance, error) {
	if err := f.prepare(server); err != nil {
		return nil, err
	}
	return f.addInstance(p, "")
}

// cleanUp ends the remaining processes of the trial. It returns their errors: an operator has to end
// without an error.
func (f *fixture) cleanUp() error {
	f.ctx = context.WithoutCancel(f.ctx) // it has to be cleared all the same
	var errs []error
	for _, p := range f.instances {
		errs = append(errs, p.stop())
	}
	if f.database == nil {
		return errors.Join(errs...)
	}
	for _, p := range f.instances {
		errs = append(errs, f.exec("drop owned by "+p.role), f.exec("drop role "+p.role))
	}
	return errors.Join(append(errs, f.database.Drop(f.ctx))...)
}

// keepLogs writes the operators' logs into a folder, so that failed trials can be investigated.
func (f *fixture) keepLogs() error {
	dir, err := os.MkdirTemp("", "trueup-faults-")
	if err != nil {
		return err
	}
	f.result.Logs = dir
	for _, p := range f.instances {
		for i, process := range p.started {
			name := fmt.Sprintf("%s-%d.log", p.role, i)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(process.Log()), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// tally compares what the people of all instances want with their objects, and with the rows except the
// rows of other instances.
func (f *fixture) tally(instances ...*instance) (Tally, error) {
	rows, err := readRows(f.ctx, f.database)
	if err != nil {
		return Tally{}, err
	}
	for _, other := range f.instances {
		if !slices.ContainsFunc(instances, func(p *instance) bool { return p.cluster == other.cluster }) {
			maps.DeleteFunc(rows, func(key string, _ []v1.PostgresWriterSpec) bool { return strings.HasPrefix(key, other.key("")) })
		}
	}
	var claims []claim
	for _, p := range instances {
		c, err := p.claim(f.ctx)
		if err != nil {
			return Tally{}, err
		}
		claims = append(claims, c)
	}
	return compare(rows, claims...), nil
}

// settled waits until the rows match what the people of all instances want.
func (f *fixture) settled(instances ...*instance) error {
	begun := time.Now()
	err := until(f.ctx, "all is at rest", func() error {
		t, err := f.tally(instances...)
		return errors.Join(err, t.differs())
	})
	f.happened("at rest after %s", time.Since(begun).Round(time.Second))
	return err
}

// check stops the operators, so that nothing changes any more, and takes the final tally. The tally
// includes the error if the system has not settled.
func (f *fixture) check(unrest error, instances ...*instance) error {
	for _, p := range instances {
		if err := p.stop(); err != nil {
			return errors.Join(unrest, err)
		}
	}
	var err error
	f.result.Tally, err = f.tally(instances...)
	return errors.Join(unrest, err)
}

// concurrently does both at once.
func concurrently(one, other func() error) error {
	var group errgroup.Group
	group.Go(one)
	group.Go(other)
	return group.Wait()
}

// atMost is a random time.
func (f *fixture) atMost(d time.Duration) time.Duration {
	return time.Duration(f.random.Int64N(int64(d)))
}

// happened adds a line to the report.
func (f *fixture) happened(format string, args ...any) {
	f.result.Happened = append(f.result.Happened, fmt.Sprintf(format, args...))
}
