package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trueup-go/trueup/test/trials/chaos/owners"
)

// rowActions returns the actions on the row of a PostgresWriter.
func rowActions() []action {
	return []action{
		{name: "edit the row of", do: onRow("update %s set age = age + 1, name = 'somebody else' where id = $1")},
		{name: "delete the row of", do: onRow("delete from %s where id = $1")},
		{name: "copy the row into the other table of", do: copyRow},
		{name: "move the row into the other table of", do: moveRow},
	}
}

// onRow returns the action of a statement about the row in its expected table.
func onRow(statement string) actionFunc {
	return func(ctx context.Context, u *user, o *object, _ *rand.Rand) error {
		return u.exec(ctx, fmt.Sprintf(statement, owners.RowOf(o.owner).Table), owners.RowKey(o.owner))
	}
}

func copyRow(ctx context.Context, u *user, o *object, _ *rand.Rand) error {
	here := owners.RowOf(o.owner).Table
	there := owners.Tables[1-slices.Index(owners.Tables, here)]
	insert := fmt.Sprintf("insert into %s select * from %s where id = $1 on conflict do nothing", there, here)
	return u.exec(ctx, insert, owners.RowKey(o.owner))
}

func moveRow(ctx context.Context, u *user, o *object, random *rand.Rand) error {
	if err := copyRow(ctx, u, o, random); err != nil {
		return err
	}
	return onRow("delete from %s where id = $1")(ctx, u, o, random)
}

// exec runs a statement as the owner of the database. It comes too late if there is no row, or no database.
func (u *user) exec(ctx context.Context, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	tag, err := u.database.Pool.Exec(ctx, statement, args...)
	if _, isAnswer := errors.AsType[*pgconn.PgError](err); err != nil && !isAnswer || err == nil && tag.RowsAffected() == 0 {
		return errTooLate
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok && answer.Code >= "57" {
		return errTooLate // the server stops, starts or has stopped
	}
	return err
}
