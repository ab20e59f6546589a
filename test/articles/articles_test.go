// Package articles_test is a reader who has an article beside the keyboard: the manifests
// and the lines of the articles that made the four example operators known, word for word,
// against the operators that re-build them. The page docs/articles.md says what is typed,
// what is seen, and which lines are left out and why.
package articles_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/cluster"
)

// A play is how an article is replayed. Its text is testdata/<name>/article.yaml.
type play struct {
	// name is the folder below testdata, and below examples.
	name string
	// options are what the cluster has besides.
	options []cluster.Option
	// happens is what no line brings about, by what the article's steps call it.
	happens map[string]event
}

// An event happens while the reader waits. What is in it fails the test by itself.
type event func(t *testing.T, r *reader)

func plays() []play {
	return []play{reverseWordsApp(), application(), bookStore(), postgresWriter()}
}

// TestArticles types every line, each article on a fresh cluster.
func TestArticles(t *testing.T) {
	plays := plays()
	replayed := make([]article, len(plays))
	t.Run("replay", func(t *testing.T) {
		for i, p := range plays {
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
	if !slices.ContainsFunc(replayed, missing) {
		settlePage(t, replayed)
	}
}

// follow does what a step says and requires what it is said to show.
func (r *reader) follow(t *testing.T, s *step) {
	t.Helper()
	switch {
	case s.Happens != "":
		happens, ok := r.events[s.Happens]
		require.True(t, ok, "nobody knows how it happens that %s", s.Happens)
		happens(t, r)
	case s.Do != "":
		printed, err := r.enter(t.Context(), s.Do)
		require.NoError(t, s.judge(printed, err), "after: %s", s.Do)
	case s.See != "":
		eventually(t, s.See, func() error {
			printed, err := r.enter(t.Context(), s.See)
			return s.judge(printed, err)
		})
	}
}
