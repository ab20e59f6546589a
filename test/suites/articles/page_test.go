package articles_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/harness/page"
)

const introduction = `# The articles, replayed

Written by ` + "`make articles`" + `, which types every line below at a shell, one article after another, each on a fresh cluster with
the operator that re-builds the article's; do not edit. The test that writes it fails when a line does not show what is said here.

The manifests and lines are the articles' own, word for word. Where an article tells something in words only, or its stored copy
does not go that far, the line is ours, which the page says in a comment above it. Below the lines is what they show, as regular
expressions. Nothing runs in the pods of that cluster, so the operator is a process: with the arguments, the variables and the
rights that its Deployment has.
`

// comparePage writes the page or compares with it.
func comparePage(t *testing.T, articles []article) {
	t.Helper()
	text := introduction
	for i := range articles {
		text += "\n" + articles[i].chapter()
	}
	require.NoError(t, page.CompareOrUpdate(t.Context(), "articles", text))
}

func (a *article) chapter() string {
	var b strings.Builder
	b.WriteString("## " + a.Title + "\n\n")
	for _, s := range a.Sources {
		fmt.Fprintf(&b, "- <%s>: %s\n", s.Address, s.Has)
	}
	var lines string // that print nothing, and go with the next that does
	for i := range a.Steps {
		s := &a.Steps[i]
		if s.Happens != "" {
			b.WriteString("\n*Then " + s.Happens + ".*\n")
			continue
		}
		if s.Ours {
			lines += "# ours\n"
		}
		lines += terminated(s.Do + s.See)
		if len(s.Shows) > 0 {
			b.WriteString("\n" + code(lines) + "\n" + s.outcome())
			lines = ""
		}
	}
	return b.String() + a.leftOut()
}

// outcome returns the page's text about the line above.
func (s *step) outcome() string {
	text := "Shows"
	if s.Fails != "" {
		text = "**Refused**, because " + s.Fails + "; shows"
	}
	return text + " `" + strings.Join(s.Shows, "`, `") + "`\n"
}

// leftOut are the lines that were not typed, by reason.
func (a *article) leftOut() string {
	var text string
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		var lines string
		for i := range a.Steps {
			if a.Steps[i].Why == why {
				lines += terminated(strings.Join(a.Steps[i].Leave, "\n"))
			}
		}
		if lines != "" {
			text += "\nNot typed, because " + reasons[why] + ":\n\n" + code(lines)
		}
	}
	return text
}

func code(lines string) string { return "```sh\n" + lines + "```\n" }

// terminated ends text with a newline, if there is any.
func terminated(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimRight(text, "\n") + "\n"
}
