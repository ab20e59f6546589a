package walkthrough_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/walkthrough"
)

const page = "Before.\n# One\n`a.go`:\n\n```go\npackage a\n```\nText.\n```sh\n# no heading\nls\n```\n\n```text\na.go\n```\n" +
	"## Two\n\n`a.go`, continued:\n```go\nvar b int\n```\n`a.go`, in place of the lines with a minus:\n```diff\n-var b int\n+var c int\n```\n" +
	"`t.go`, in place of the types with the same names:\n```go\ntype T int\n```\n`text` before code:\n```go\nvar d int\n```\n`no file`:\n```sh\nrm a.go\n```\n"

func TestParse(t *testing.T) {
	got, err := walkthrough.Parse(page)
	require.NoError(t, err)
	want := []walkthrough.Section{
		{Text: "Before.\n"},
		{
			Heading: "# One",
			Text:    "`a.go`:\n\nText.\n\n",
			Blocks: []walkthrough.Block{
				{Does: walkthrough.Creates, Path: "a.go", Text: "package a\n"},
				{Does: walkthrough.Runs, Text: "# no heading\nls\n"},
				{Does: walkthrough.Prints, Text: "a.go\n"},
			},
		},
		{
			Heading: "## Two",
			Text: "\n`a.go`, continued:\n`a.go`, in place of the lines with a minus:\n" +
				"`t.go`, in place of the types with the same names:\n`text` before code:\n`no file`:\n\n",
			Blocks: []walkthrough.Block{
				{Does: walkthrough.Continues, Path: "a.go", Text: "var b int\n"},
				{Does: walkthrough.Changes, Path: "a.go", Text: "-var b int\n+var c int\n"},
				{Does: walkthrough.Replaces, Path: "t.go", Text: "type T int\n"},
				{Does: walkthrough.Illustrates, Text: "var d int\n"},
				{Does: walkthrough.Runs, Text: "rm a.go\n"},
			},
		},
	}
	require.Empty(t, cmp.Diff(want, got))

	_, err = walkthrough.Parse("Text.\n```sh\nls\n")
	require.ErrorContains(t, err, "Text.")
}

func TestApply(t *testing.T) {
	const text, code = "one\ntwo\nthree\ntwo\n", "package a\n\n// A is old.\ntype A struct {\n\tb int\n}\n\ntype B int\n"
	for _, test := range []struct {
		name  string
		block walkthrough.Block
		file  string
		want  string
		err   string
	}{
		{name: "creates", block: walkthrough.Block{Does: walkthrough.Creates, Text: "new\n"}, file: text, want: "new\n"},
		{name: "continues", block: walkthrough.Block{Does: walkthrough.Continues, Text: "new\n"}, file: "old\n", want: "old\n\nnew\n"},
		{name: "replaces lines", block: diff(" one\n-two\n+2\n"), file: text, want: "one\n2\nthree\ntwo\n"},
		{name: "adds lines", block: diff(" three\n+3\n"), file: text, want: "one\ntwo\nthree\n3\ntwo\n"},
		{name: "two hunks", block: diff("-one\n+1\n@@\n-three\n+3\n"), file: text, want: "1\ntwo\n3\ntwo\n"},
		{name: "only whole lines", block: diff("-hree\n"), file: text, err: "0 times"},
		{name: "ambiguous", block: diff("-two\n"), file: text, err: "2 times"},
		{name: "ambiguous, then not", block: diff("-two\n@@\n-one\n"), file: text, err: "2 times"},
		{name: "no diff", block: diff("two\n"), file: text, err: "no line of a diff"},
		{
			name: "replaces types", file: code, block: types("type B string\n\n// A is new.\ntype A int\n"),
			want: "package a\n\n// A is new.\ntype A int\n\ntype B string\n",
		},
		{name: "no such type", file: code, block: types("type C int\n"), err: "no type C"},
		{name: "not formatted", file: code, block: types("type B  int\n"), err: "gofmt would change"},
		{name: "not for a file", block: walkthrough.Block{Text: "ls\n"}, err: "no file is named"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.block.Apply(test.file)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func diff(text string) walkthrough.Block {
	return walkthrough.Block{Does: walkthrough.Changes, Path: "a.txt", Text: text}
}

func types(text string) walkthrough.Block {
	return walkthrough.Block{Does: walkthrough.Replaces, Path: "a.go", Text: text}
}
