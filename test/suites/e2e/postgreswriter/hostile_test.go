package postgreswriter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trueup-go/trueup/examples/postgreswriter/api/v1"
	"github.com/trueup-go/trueup/test/harness/cluster"
)

// oddTables are names that need quotes, in SQL and elsewhere. Names in --tables cannot contain a
// comma.
var oddTables = []string{
	`odd "name'`, `students; DROP TABLE students`, `"`, `'); --`, `\`, `$1`, "tab\tand\nline", "Ünïcödé 🐘", "SELECT", " ",
	strings.Repeat("🐘", 15) + "abc",
}

// hostile are texts that mean something to somebody on their way.
func hostile() []string {
	var controls strings.Builder
	for r := rune(1); r < ' '; r++ {
		controls.WriteRune(r)
	}
	for r := rune(0x7f); r < 0xa0; r++ {
		controls.WriteRune(r)
	}
	return []string{
		`O'Brien`, `students; DROP TABLE students`, `'); DROP TABLE students; --`, `' OR ''='`, `"`, `""`, `'`, `''`, `\`, `\\`, `\'`,
		`\x00`, `\u0000`, `$1`, `$$`, `%s%d%n`, `{{.}}`, `${PSQL_PASSWORD}`, `null`, `NULL`, ` `, ` both sides `, "line\nbreak\r\n",
		`-- comment`, `/* comment`, `E'\\x41'`, `;`, `🐘`, "e\u0301", "\u202e", "\ufeff", "\ufffd", "\u2028", controls.String(),
		strings.Repeat("🐘", 255), strings.Repeat("'", 255), strings.Repeat(`\`, 255),
	}
}

// TestHostileValues has PostgresWriters with whatever the API server lets through.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, server, append(oddTables, "students", "unlisted")...)
	d.insert(t, "students", "stranger", alex)
	d.insert(t, "unlisted", "stranger", alex)
	before := d.tables(t)
	f := newFixtureWithOwnOperator(t, d, "--tables="+strings.Join(append(oddTables, "students"), ","))

	want := map[string]row{"stranger": alex}
	for i, text := range hostile() {
		one := f.withName(nth("value", i))
		one.create(t, func(spec *v1.PostgresWriterSpec) { spec.Name, spec.Country = text, text })
		want[one.key()] = row{Name: text, Age: alex.Age, Country: text}
	}
	for i, table := range oddTables {
		f.withName(nth("table", i)).create(t, inTable(table))
	}
	for i, text := range append(hostile(), "unlisted", "postgreswriter_lease", "public.students", "Students", "pg_class") {
		if utf8.RuneCountInString(text) > 63 || slices.Contains(oddTables, text) {
			continue
		}
		refused := f.withName(nth("refused", i))
		refused.create(t, inTable(text))
		require.Contains(t, refused.waitForReason(t, "TableNotAllowed").Message, "--tables")
	}

	for i := range hostile() {
		f.withName(nth("value", i)).waitUntilReady(t)
	}
	for i, table := range oddTables {
		one := f.withName(nth("table", i))
		one.waitUntilReady(t)
		require.Equal(t, []string{one.key()}, d.keys(t, table))
	}
	require.Equal(t, want, d.rows(t, "students"))
	require.Equal(t, map[string]row{"stranger": alex}, d.rows(t, "unlisted"))
	require.Equal(t, before, d.tables(t))

	f.deleteAll(t)
	require.Equal(t, map[string]row{"stranger": alex}, d.rows(t, "students"), "and nothing of it stays")
	for _, table := range oddTables {
		require.Empty(t, d.keys(t, table), table)
	}
	require.Equal(t, before, d.tables(t))
}

// TestValidation has the API server refuse impossible rows.
func TestValidation(t *testing.T) {
	namespace := shared.Namespace(t)
	for name, refused := range map[string]struct{ change, says string }{
		"name of 256 characters":       {`{"name":"` + strings.Repeat("a", 256) + `"}`, "spec.name"},
		"name of 10,000 characters":    {`{"name":"` + strings.Repeat("a", 10000) + `"}`, "spec.name"},
		"country of 256 characters":    {`{"country":"` + strings.Repeat("🐘", 256) + `"}`, "spec.country"},
		"country of 10,000 characters": {`{"country":"` + strings.Repeat("🐘", 10000) + `"}`, "spec.country"},
		"table of 64 characters":       {`{"table":"` + strings.Repeat("a", 64) + `"}`, "spec.table"},
		"empty name":                   {`{"name":""}`, "spec.name"},
		"empty country":                {`{"country":""}`, "spec.country"},
		"empty table":                  {`{"table":""}`, "spec.table"},
		"age -1":                       {`{"age":-1}`, "spec.age"},
		"age 2147483648":               {`{"age":2147483648}`, "spec.age"},
		"a NUL in the name":            {`{"name":"a\u0000b"}`, "spec.name: Invalid value: \"a\\x00b\": must not contain NUL"},
		"a NUL in the country":         {`{"country":"\u0000"}`, "must not contain NUL"},
		"a NUL in the table":           {`{"table":"students\u0000"}`, "must not contain NUL"},
		"table of 64 bytes":            {`{"table":"` + strings.Repeat("🐘", 16) + `"}`, "spec.table: Invalid value: \"" + strings.Repeat("🐘", 16) + "\": must not be longer than 63 bytes"},
		"age that is no integer":       {`{"age":1.5}`, "spec.age"},
		"age that is a text":           {`{"age":"23"}`, "spec.age"},
		"age of 40 bits":               {`{"age":1099511627776}`, "spec.age"},
		"no name":                      {`{"name":null}`, "spec.name"},
		"no country":                   {`{"country":null}`, "spec.country"},
		"no table":                     {`{"table":null}`, "spec.table"},
		"no age":                       {`{"age":null}`, "spec.age"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := map[string]any{"table": "students", "name": alex.Name, "age": int64(alex.Age), "country": alex.Country}
			var change map[string]any
			require.NoError(t, json.Unmarshal([]byte(refused.change), &change))
			for field, value := range change {
				spec[field] = value
				if value == nil {
					delete(spec, field)
				}
			}
			err := admin(t).Create(t.Context(), untyped(namespace, map[string]any{"spec": spec}))
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			require.ErrorContains(t, err, refused.says)
		})
	}
	for name, content := range map[string]map[string]any{"no spec": {}, "empty spec": {"spec": map[string]any{}}} {
		err := admin(t).Create(t.Context(), untyped(namespace, content))
		require.True(t, apierrors.IsInvalid(err), "%s: %v", name, err)
	}
}

// TestAccepted has the API server accept the limits of each field.
func TestAccepted(t *testing.T) {
	namespace := shared.Namespace(t)
	for name, change := range map[string]map[string]any{
		"age 0":                     {"age": int64(0)},
		"age 1000":                  {"age": int64(1000)},
		"age 2147483647":            {"age": int64(math.MaxInt32)},
		"name of a character":       {"name": "a"},
		"name of 255 characters":    {"name": strings.Repeat("🐘", 255)},
		"country of a character":    {"country": "a"},
		"country of 255 characters": {"country": strings.Repeat("🐘", 255)},
		"table of a character":      {"table": "a"},
		"table of 63 characters":    {"table": strings.Repeat("a", 63)},
		"table of 63 bytes":         {"table": oddTables[len(oddTables)-1]},
		"a backslash and a zero":    {"name": `\0`, "country": `\u0000`, "table": `\x00`},
		"all control characters":    {"name": hostile()[len(hostile())-4], "country": "line\nbreak", "table": "tab\tand\nline"},
	} {
		spec := map[string]any{"table": "students", "name": alex.Name, "age": int64(alex.Age), "country": alex.Country}
		maps.Copy(spec, change)
		err := admin(t).Create(t.Context(), untyped(namespace, map[string]any{"spec": spec}), client.DryRunAll)
		require.NoError(t, err, name)
	}
}

// TestNULInYAML has a user write a NUL as YAML allows.
func TestNULInYAML(t *testing.T) {
	namespace := shared.Namespace(t)
	file := filepath.Join(t.TempDir(), "nul.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: demo.yash.com/v1\nkind: PostgresWriter\nmetadata: {name: alex}\n"+
		`spec: {table: students, name: "a\0b", age: 23, country: canada}`), 0o600))
	path, err := cluster.Kubectl(t.Context())
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), path, "--kubeconfig", shared.Kubeconfig(), "apply", "-n", namespace, "-f", file).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "must not contain NUL")
}

func untyped(namespace string, content map[string]any) *unstructured.Unstructured {
	writer := &unstructured.Unstructured{Object: content}
	writer.SetGroupVersionKind(v1.GroupVersion.WithKind("PostgresWriter"))
	writer.SetNamespace(namespace)
	writer.SetName("alex")
	return writer
}

// deleteAll deletes all PostgresWriters of the namespace, and waits until they are gone.
func (f fixture) deleteAll(t *testing.T) {
	t.Helper()
	require.NoError(t, admin(t).DeleteAllOf(t.Context(), f.named(), client.InNamespace(f.namespace)))
	eventually(t, func(ctx context.Context) error {
		var left v1.PostgresWriterList
		if err := admin(t).List(ctx, &left, client.InNamespace(f.namespace)); err != nil {
			return err
		}
		return expect(len(left.Items) == 0, "%d are left", len(left.Items))
	})
}

func nth(name string, i int) string { return fmt.Sprintf("%s-%d", name, i) }
