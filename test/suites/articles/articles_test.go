// Package articles_test follows the articles that made the four example operators known: it enters
// their manifests and lines, word for word, with the new operators. The page docs/articles.md lists
// the lines, the output, and the lines that are left out, with reasons.
package articles_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// An articleTest describes how an article is replayed. Its text is testdata/<name>/article.yaml.
type articleTest struct {
	// name is the folder below testdata, and below examples.
	name string
	// options are additional options of the cluster.
	options []cluster.Option
	// happens are the events that no line causes, by their names in the article's steps.
	happens map[string]event
}

// An event happens while the reader waits. It fails the test by itself.
type event func(t *testing.T, r *reader)

func articleTests() []articleTest {
	return []articleTest{reverseWordsApp(), application(), bookStore(), postgresWriter()}
}

// TestArticles types every line, each article on a fresh cluster. With -short, it replays one article.
func TestArticles(t *testing.T) {
	tests := articleTests()
	if testing.Short() {
		tests = tests[:1]
	}
	replayed := make([]article, len(tests))
	t.Run("replay", func(t *testing.T) {
		for i, p := range tests {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel() // they wait a good deal: for garbage collectors, for namespaces that go
				a := load(t, p.name)
				r := newReader(t, p, &a)
				for j := range a.Steps {
					r.follow(t, &a.Steps[j])
				}
				replayed[i] = a
			})
		}
	})
	missing := func(a article) bool { return a.Title == "" } // it failed, or was not asked for
	if !testing.Short() && !slices.ContainsFunc(replayed, missing) {
		comparePage(t, replayed)
	}
}

// follow executes a step and requires the expected output.
func (r *reader) follow(t *testing.T, s *step) {
	t.Helper()
	switch {
	case s.Happens != "":
		happens, ok := r.events[s.Happens]
		require.True(t, ok, "nobody knows how it happens that %s", s.Happens)
		happens(t, r)
	case s.Do != "":
		printed, err := r.runLine(t.Context(), s.Do)
		require.NoError(t, s.checkOutput(printed, err), "after: %s", s.Do)
	case s.See != "":
		eventually(t, s.See, func() error {
			printed, err := r.runLine(t.Context(), s.See)
			return s.checkOutput(printed, err)
		})
	}
}
