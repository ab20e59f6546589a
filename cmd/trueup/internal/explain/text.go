package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
)

// A Layout selects the form of the text.
type Layout struct {
	// Now is the time from which ages count.
	Now time.Time
	// Expand lists every field, also where a whole subtree belongs to one manager.
	Expand bool
}

// Text writes the report: a summary, the dry run if there was one, and then each manager with its fields.
func (l Layout) Text(out io.Writer, r *Report) error {
	p := &page{Layout: l, report: r}
	p.summary()
	if r.Exists {
		p.fieldOwners()
		p.shared()
	}
	p.dryRun()
	p.migration()
	p.managers()
	p.unowned()
	_, err := io.WriteString(out, printable(p.text.String()))
	return err
}

// printable replaces control characters, which an object can contain, and which a terminal obeys.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// A page is a text that is being written.
type page struct {
	Layout
	report *Report
	text   strings.Builder
}

func (p *page) line(format string, args ...any) {
	p.text.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// item writes a line of the summary.
func (p *page) item(label, format string, args ...any) {
	p.line("%-11s  %s", label, fmt.Sprintf(format, args...))
}

func (p *page) summary() {
	r := p.report
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + r.Name
	}
	if !r.Exists {
		p.line("%s %s (%s) does not exist", r.Kind, name, r.APIVersion)
		return
	}
	p.line("%s %s (%s), created %s", r.Kind, name, r.APIVersion, p.when(r.Created))
	if r.Deleting != nil {
		p.item("deleting", "since %s, finalizers: %s", p.when(r.Deleting), cmp.Or(strings.Join(r.Finalizers, ", "), "none"))
	}
	p.owners()
}

func (p *page) owners() {
	controller, others := "none", []string{}
	for _, owner := range p.report.Owners {
		name := owner.Kind + " " + owner.Name
		if owner.Controller {
			controller = name
		} else {
			others = append(others, name)
		}
	}
	p.item("controller", "%s", controller)
	if len(others) > 0 {
		p.item("owners", "%s", strings.Join(others, ", "))
	}
}

func (p *page) fieldOwners() {
	if !slices.ContainsFunc(p.report.FieldOwners, usesTrueup) {
		p.item("trueup", "no field owner: the object has no digest of trueup")
	}
	for _, owner := range p.report.FieldOwners {
		label := "manager"
		if usesTrueup(owner) {
			label = "trueup"
		}
		p.item(label, "%s: %s", owner.Name, p.describeOwner(owner))
		for _, entry := range owner.Newer {
			p.item("newer", "%s, %s; %s", entry, p.when(entry.Time), since(owner, entry))
		}
	}
}

func usesTrueup(owner FieldOwner) bool { return owner.Digest != "" }

func (p *page) describeOwner(owner FieldOwner) string {
	var parts []string
	if usesTrueup(owner) {
		parts = append(parts, "digest "+owner.Digest)
	}
	if owner.Adopted {
		parts = append(parts, "adopted")
	}
	if owner.Fields == 0 {
		return strings.Join(append(parts, "but no apply in the managed fields"), ", ")
	}
	return strings.Join(append(parts, "applied "+fieldCount(owner.Fields)+" "+p.when(owner.LastApply)), ", ")
}

// since says how an entry and the last apply of owner follow each other.
func since(owner FieldOwner, entry Entry) string {
	switch {
	case entry.Time == nil || owner.LastApply == nil:
		return "before or after " + owner.Name
	case entry.Time.Equal(*owner.LastApply):
		return "in the same second as " + owner.Name
	}
	return "after " + owner.Name
}

func (p *page) shared() {
	if n := len(p.report.Shared); n > 0 {
		p.item("shared", "%s with several owners, marked by *", fieldCount(n))
	}
	if len(p.report.Managers) == 0 {
		p.item("managers", "none: the object has no managed fields, because somebody removed them or the API server keeps none")
	}
}

func (p *page) when(t *time.Time) string {
	if t == nil {
		return "at an unknown time"
	}
	return fmt.Sprintf("%s ago (%s)", duration.HumanDuration(max(0, p.Now.Sub(*t))), t.Format(time.RFC3339))
}

func fieldCount(n int) string {
	if n == 1 {
		return "1 field"
	}
	return strconv.Itoa(n) + " fields"
}
