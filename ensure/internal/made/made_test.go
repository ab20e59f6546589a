package made_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/trueup-go/trueup/ensure/internal/made"
)

func TestTable(t *testing.T) {
	child := func(name, uid string) made.Child {
		return made.Child{UID: types.UID(uid), Key: types.NamespacedName{Name: name}}
	}
	uids := sets.New[types.UID]
	table, of, other := made.NewTable(2), made.Group{Owner: "1"}, made.Group{Owner: "2"}
	require.Empty(t, table.Drop(of, uids("a1")))
	require.False(t, table.Has(of))
	table.Note(of, child("a", "a1"))
	table.Note(of, child("b", "b1"))
	table.Note(of, child("a", "a2"))
	table.Note(other, child("c", "c1"))
	require.True(t, table.Has(of))
	before := table.Drop(of, uids("a1", "c1"))
	require.Equal(t, []made.Child{child("b", "b1"), child("a", "a2")}, before, "a1 was replaced, and c1 is in another group")
	require.Equal(t, []made.Child{child("a", "a2")}, table.Drop(of, uids("b1")))
	require.Equal(t, []made.Child{child("b", "b1"), child("a", "a2")}, before, "a result belongs to the caller")
	require.Empty(t, table.Drop(of, uids("a2")))
	require.False(t, table.Has(of))
	require.True(t, table.Has(other))
}
