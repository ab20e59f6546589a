package moves_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// A script is a round in words.
type script struct {
	IsAdopted bool     // the migrated object has no owner, and is adopted; otherwise both have the same
	First     []string // what desired has at first, as part=variant
	Older     []string // what the older version set besides, or instead
	Steps     []string // actions, see round.act; several actions come before the same pass
}

func (s script) String() string {
	list := func(texts []string) string { return "[]string{" + strings.Join(quoted(texts), ", ") + "}" }
	return fmt.Sprintf("script{IsAdopted: %t, First: %s, Older: %s, Steps: %s}", s.IsAdopted, list(s.First), list(s.Older), list(s.Steps))
}

func quoted(texts []string) []string {
	var out []string
	for _, text := range texts {
		out = append(out, fmt.Sprintf("%q", text))
	}
	return out
}

// scripts generates scripts for a kind.
func scripts(kind *kindCase) *rapid.Generator[script] {
	var choices, olds, names, theirs, plain, retirable []string
	for _, p := range kind.parts {
		choices, names = append(choices, p.names()...), append(names, p.name)
		if !p.isPlain {
			plain = append(plain, p.name)
		}
	}
	for _, p := range kind.legacy {
		olds = append(olds, p.names()...)
		if !p.isPlain {
			retirable = append(retirable, p.name)
		}
	}
	for _, p := range kind.theirs {
		theirs = append(theirs, p.name)
	}
	choice, old, name, their := rapid.SampledFrom(choices), rapid.SampledFrom(olds), rapid.SampledFrom(names), rapid.SampledFrom(theirs)
	option, retire := rapid.SampledFrom(plain), rapid.SampledFrom(slices.Concat(plain, retirable))
	action := rapid.Custom(func(t *rapid.T) string {
		verb := rapid.SampledFrom([]string{
			"want", "want", "want", "want", "want", "drop", "drop", "drop", "drop", "older", "older", "older", "sets", "applies", "unsets",
			"break", "readd", "empty", "empty update", "restart", "fail", "fail", "release", "once", "plain", "retire",
			"migrate off", "migrate on",
		}).Draw(t, "verb")
		switch verb {
		case "want":
			return "want " + choice.Draw(t, "part")
		case "drop", "break", "readd":
			return verb + " " + name.Draw(t, "part")
		case "older":
			return "older " + rapid.OneOf(old, old, choice).Draw(t, "part")
		case "sets", "applies", "unsets":
			return verb + " " + their.Draw(t, "part")
		case "release", "once", "plain":
			return verb + " " + option.Draw(t, "part")
		case "retire":
			return "retire " + retire.Draw(t, "part")
		case "fail":
			return fmt.Sprintf("fail %d %s", rapid.IntRange(0, 2).Draw(t, "after"), rapid.SampledFrom([]string{
				"lost", "delivered", "lost migrated", "delivered migrated",
			}).Draw(t, "how"))
		}
		return verb
	})
	step := rapid.Map(rapid.SliceOfN(action, 1, 3), func(actions []string) string { return strings.Join(actions, "; ") })
	return rapid.Custom(func(t *rapid.T) script {
		return script{
			IsAdopted: rapid.Bool().Draw(t, "adopted"),
			First:     rapid.SliceOfN(choice, 0, len(kind.parts)/2).Draw(t, "first"),
			Older:     rapid.SliceOfN(rapid.OneOf(old, choice), 0, 5).Draw(t, "older"),
			Steps:     rapid.SliceOfN(step, 1, maxSteps).Draw(t, "steps"),
		}
	})
}
