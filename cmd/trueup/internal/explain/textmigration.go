package explain

import (
	"slices"
	"strings"
)

// migration writes the effect of a migration.
func (p *page) migration() {
	if p.report.DryRun == nil || p.report.DryRun.Migration == nil {
		return
	}
	m := p.report.DryRun.Migration
	p.line("")
	p.line("Migration from %s to %s", strings.Join(m.From, ", "), p.report.DryRun.FieldManager)
	if p.report.DryRun.Refused != nil {
		p.line("    unknown, because the API server refuses the apply")
		return
	}
	for _, name := range m.From {
		if !slices.ContainsFunc(p.report.Managers, func(manager Manager) bool { return manager.Manager == name }) {
			p.line("    no field belongs to %s", name)
		}
	}
	if len(m.Overwrites) > 0 {
		p.line("    is refused by ensure.Object without ensure.Once or ensure.OverwriteData, as it changes %s",
			strings.Join(m.Overwrites, ", "))
	}
	p.moved(m.Ours, p.report.DryRun.FieldManager+"'s alone")
	p.moved(m.Nobodys, "nobody's, like defaults")
	p.stays(m)
	if m.StructsUnknown {
		p.line("    if the program has a Go type for the kind, or may read its definition, more fields become nobody's")
	}
}

// moved writes the fields that older versions lose.
func (p *page) moved(losses []Loss, whose string) {
	for _, loss := range losses {
		n := len(loss.Paths)
		p.line("    %s of %s %s %s", fieldCount(n), loss.Entry, verb(n, "become"), whose)
		if n > foldAbove && !p.Expand {
			continue
		}
		for _, path := range loss.Paths {
			p.line("        %s", path)
		}
	}
}

func (p *page) stays(m *Migration) {
	n := len(m.Stays)
	if n == 0 {
		p.line("    no field stays that desired lacks")
		return
	}
	p.line("    %s %s that desired lacks; to remove one, name it in ensure.Retire", fieldCount(n), verb(n, "stay"))
	for _, stay := range m.Stays {
		p.line("        %s (set by %s)", stay.Path, stay.Manager)
	}
	if m.DefaultsUnknown {
		p.line("    defaults may be among them, as the API server does not show what desired alone would create")
	}
}

// verb returns a verb for a number of fields.
func verb(n int, plural string) string {
	if n == 1 {
		return plural + "s"
	}
	return plural
}
