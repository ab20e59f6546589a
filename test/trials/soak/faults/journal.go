package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The journal is kept by triggers, so that it is complete. The triggers record who writes which
// row, and whose process holds the global lock in which term, at the execution of the statement and
// again at the commit.
const journal = `
	create table journal (
		n bigserial primary key, moment text, writer text, tab text, op text, key text,
		holder text, owner text, term integer);
	create table holders (identity text primary key, owner text);
	create table handovers (n bigserial primary key, writer text, before text, after text);

	create function note() returns trigger language plpgsql security definer as $$
	declare holding text; number integer;
	begin
		if to_regclass('postgreswriter_lease') is not null then
			select holder, transitions into holding, number from postgreswriter_lease;
		end if;
		insert into journal (moment, writer, tab, op, key, holder, owner, term) values (
			tg_argv[0], session_user, tg_table_name, tg_op, coalesce(new.id, old.id), holding,
			(select owner from holders where identity = holding), number);
		return null;
	end $$;

	create function note_lease() returns trigger language plpgsql security definer as $$
	begin
		if tg_op = 'INSERT' or new.holder <> old.holder then
			insert into handovers (writer, before, after)
				values (session_user, case tg_op when 'INSERT' then '' else old.holder end, new.holder);
		end if;
		insert into holders (identity, owner) values (new.holder, session_user) on conflict do nothing;
		return null;
	end $$;`

// keepJournal starts the journal.
func (f *fixture) keepJournal() error {
	if err := f.exec(journal); err != nil {
		return err
	}
	for _, table := range tables {
		err := errors.Join(
			f.exec(`create trigger at_once after insert or update or delete on `+table+
				` for each row execute function note('at once')`),
			f.exec(`create constraint trigger at_commit after insert or update or delete on `+table+
				` deferrable initially deferred for each row execute function note('at commit')`))
		if err != nil {
			return err
		}
	}
	return nil
}

// watchLease records the acquisitions and releases of the global lock, starting when the first
// holder has the lock.
func (f *fixture) watchLease(first *instance) error {
	return errors.Join(
		f.exec(`insert into holders select holder, '`+first.role+`' from postgreswriter_lease`),
		f.exec(`create trigger handover after insert or update on postgreswriter_lease for each row execute function note_lease()`))
}

// journalLength returns the number of journal entries so far, for comparison.
func (f *fixture) journalLength() (n int64, err error) {
	err = f.database.Pool.QueryRow(f.ctx, `select coalesce(max(n), 0) from journal`).Scan(&n)
	return n, err
}

// writesOf counts the row writes of an instance since then.
func (f *fixture) writesOf(p *instance, since int64) (n int, err error) {
	err = f.database.Pool.QueryRow(f.ctx,
		`select count(*) from journal where moment = 'at once' and writer = $1 and n > $2`, p.role, since).Scan(&n)
	return n, err
}

// findViolations finds forbidden writes: the query returns one line of text for each.
func (f *fixture) findViolations(query string, args ...any) error {
	found, err := collect(f.ctx, f.database.Pool, query, args...)
	if err != nil {
		return fmt.Errorf("cannot read the journal: %w", err)
	}
	f.result.Violations = append(f.result.Violations, found...)
	return nil
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func collect(ctx context.Context, db querier, query string, args ...any) ([]string, error) {
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
