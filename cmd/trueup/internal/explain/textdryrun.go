package explain

import "strings"

// dryRun writes the effect of the apply.
func (p *page) dryRun() {
	run := p.report.DryRun
	if run == nil {
		return
	}
	p.line("")
	p.line("Dry run of an apply by %s", run.FieldManager)
	switch {
	case run.Refused != nil:
		p.refusal(run.Refused)
	case run.Creates:
		p.line("    creates the object")
	case len(run.Changes) == 0:
		p.line("    changes no field")
	}
	if len(run.Kept) > 0 {
		p.line("    keeps    %s, which trueup adds to each apply", strings.Join(run.Kept, ", "))
	}
	for _, change := range run.Changes {
		p.line("    %-7s  %s", change.Kind, describeChange(change))
	}
	for _, loss := range run.Losses {
		p.line("    takes from %s: %s", loss.Entry, strings.Join(loss.Paths, ", "))
	}
}

func (p *page) refusal(refused *Refusal) {
	p.line("    refused  %s", refused.Message)
	for _, path := range refused.Paths {
		p.line("    refused  %s", path)
	}
}

func describeChange(change Change) string {
	switch {
	case change.Masked:
		return change.Path + ": " + masked
	case change.Kind == "added":
		return change.Path + ": " + brief(change.New)
	case change.Kind == "removed":
		return change.Path + ": " + brief(change.Old)
	}
	return change.Path + ": " + brief(change.Old) + " -> " + brief(change.New)
}
