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

// A stage holds one trial: a database, operators that write to this database, and the findings so
// far.
type stage struct {
	ctx    context.Context //nolint:containedctx // a stage is one trial, and nothing of it outlives the trial
	site   *site
	plan   Plan
	random *rand.Rand
	result Result

	database *postgres.Database
	parties  []*party
}

// prepare makes the database, with empty tables.
func (s *stage) prepare(server *postgres.Server) error {
	var err error
	if s.database, err = server.CreateDatabase(s.ctx); err != nil {
		return err
	}
	for _, table := range tables {
		err := s.exec("create table " + table + " (id text primary key, name text, age integer, country text)")
		if err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement as the owner of the database.
func (s *stage) exec(statement string) error {
	if _, err := s.database.Pool.Exec(s.ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// join creates a party with a database role of its own, and a namespace named after the database,
// which no other trial uses. People may work in several clusters.
func (s *stage) join(p *plane, cluster string, args ...string) (*party, error) {
	namespace := strings.ReplaceAll(s.database.Name, "_", "-")
	if err := p.namespace(s.ctx, namespace); err != nil {
		return nil, err
	}
	role := fmt.Sprintf("%s_%d", s.database.Name, len(s.parties))
	if err := s.admit(role); err != nil {
		return nil, err
	}
	args = append(args, "--tables="+strings.Join(tables, ","), "--watch-namespace="+namespace)
	if cluster == "" {
		args = append(args, "--sweep")
	} else {
		args = append(args, "--cluster-name="+cluster)
	}
	member := &party{
		plane: p, cluster: cluster, role: role, operator: p.operator, args: args,
		crowd: newCrowd(s.random, s.plan.Creations, s.plan.Deletions, namespace, p.admin),
	}
	// Of a variable that is given twice the last counts.
	member.operator.Env = append(s.database.Environment(), "PSQL_USER="+role, "PSQL_PASSWORD="+role)
	s.parties = append(s.parties, member)
	return member, nil
}

// admit creates a role with the rights of an operator.
func (s *stage) admit(role string) error {
	for _, statement := range []string{
		fmt.Sprintf("create role %s login password '%s'", role, role),
		"grant create on schema public to " + role,
		fmt.Sprintf("grant select, insert, update, delete on %s to %s", strings.Join(tables, ", "), role),
	} {
		if err := s.exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// alone prepares a trial of one operator.
func (s *stage) alone(server *postgres.Server, p *plane) (*party, error) {
	if err := s.prepare(server); err != nil {
		return nil, err
	}
	return s.join(p, "")
}

// clear ends the remaining processes of the trial. It returns their errors: an operator has to end
// without an error.
func (s *stage) clear() error {
	s.ctx = context.WithoutCancel(s.ctx) // it has to be cleared all the same
	var errs []error
	for _, p := range s.parties {
		errs = append(errs, p.stop())
	}
	if s.database == nil {
		return errors.Join(errs...)
	}
	for _, p := range s.parties {
		errs = append(errs, s.exec("drop owned by "+p.role), s.exec("drop role "+p.role))
	}
	return errors.Join(append(errs, s.database.Drop(s.ctx))...)
}

// keepLogs writes the operators' logs into a folder, so that failed trials can be investigated.
func (s *stage) keepLogs() error {
	dir, err := os.MkdirTemp("", "trueup-faults-")
	if err != nil {
		return err
	}
	s.result.Logs = dir
	for _, p := range s.parties {
		for i, process := range p.started {
			name := fmt.Sprintf("%s-%d.log", p.role, i)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(process.Log()), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// tally compares the wishes of the parties' people with their objects, and with the rows except the
// rows of other parties.
func (s *stage) tally(parties ...*party) (Tally, error) {
	rows, err := readRows(s.ctx, s.database)
	if err != nil {
		return Tally{}, err
	}
	for _, other := range s.parties {
		if !slices.ContainsFunc(parties, func(p *party) bool { return p.cluster == other.cluster }) {
			maps.DeleteFunc(rows, func(key string, _ []v1.PostgresWriterSpec) bool { return strings.HasPrefix(key, other.key("")) })
		}
	}
	var claims []claim
	for _, p := range parties {
		c, err := p.claim(s.ctx)
		if err != nil {
			return Tally{}, err
		}
		claims = append(claims, c)
	}
	return compare(rows, claims...), nil
}

// settled waits until the rows match the wishes of the parties' people.
func (s *stage) settled(parties ...*party) error {
	begun := time.Now()
	err := until(s.ctx, "all is at rest", func() error {
		t, err := s.tally(parties...)
		return errors.Join(err, t.differs())
	})
	s.happened("at rest after %s", time.Since(begun).Round(time.Second))
	return err
}

// judge stops the operators, so that nothing changes any more, and takes the final tally. The tally
// includes the error if the system has not settled.
func (s *stage) judge(unrest error, parties ...*party) error {
	for _, p := range parties {
		if err := p.stop(); err != nil {
			return errors.Join(unrest, err)
		}
	}
	var err error
	s.result.Tally, err = s.tally(parties...)
	return errors.Join(unrest, err)
}

// meanwhile does both at once.
func meanwhile(one, other func() error) error {
	var group errgroup.Group
	group.Go(one)
	group.Go(other)
	return group.Wait()
}

// atMost is a random time.
func (s *stage) atMost(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d)))
}

// happened adds a line to the report.
func (s *stage) happened(format string, args ...any) {
	s.result.Happened = append(s.result.Happened, fmt.Sprintf(format, args...))
}
