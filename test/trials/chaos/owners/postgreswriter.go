package owners

import (
	"fmt"
	"math/rand/v2"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
)

// Tables are the tables that rows are written to, and move between.
var Tables = []string{"students", "teachers"}

func postgresWriter() *Kind {
	return &Kind{
		Operator: "postgreswriter",
		// People remove finalizers: the flag keeps the rows of these PostgresWriters from being left to nobody.
		Args:        []string{"--tables=students,teachers", "--check-interval=5s", "--sweep"},
		Prefix:      "row",
		AddToScheme: v1.AddToScheme,
		New:         func() client.Object { return &v1.PostgresWriter{} },
		Edit:        editPostgresWriter,
		Finalizer:   v1.Finalizer,
		Children:    func(client.Object) []Child { return nil },
		Ready:       isReady,
		Status: func(owner client.Object) Manifest {
			return Manifest{"id": RowKey(owner), "table": RowOf(owner).Table}
		},
	}
}

func editPostgresWriter(random *rand.Rand, owner client.Object) {
	spec := &owner.(*v1.PostgresWriter).Spec
	spec.Table = pick(random, Tables...)
	spec.Name = fmt.Sprintf("%s %d", pick(random, "alex", "Đorđe", "O'Hara", `back\slash`, `"quoted"`, "山田"), random.IntN(1000))
	spec.Age = random.Int32N(201)
	spec.Country = pick(random, "canada", "Österreich", "Côte d'Ivoire", "日本")
}

// A Row is the content of a row, and its table.
type Row = v1.PostgresWriterSpec

// RowKey returns the primary key of a PostgresWriter's row.
func RowKey(owner client.Object) string { return owner.GetNamespace() + "/" + owner.GetName() }

// RowOf returns the row that there should be for a PostgresWriter.
func RowOf(owner client.Object) Row { return owner.(*v1.PostgresWriter).Spec }
