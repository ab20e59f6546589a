package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trueup-go/trueup/test/harness/places"
	"github.com/trueup-go/trueup/test/trials/chaos/timeline"
	"github.com/trueup-go/trueup/test/trials/chaos/trial"
)

const pageText = `# Ten minutes of chaos

All example operators run in one control plane, each as a process with the rights of its own ServiceAccount, while the
API server, etcd, the operators, PostgreSQL, a webhook, the CRDs and the storage fail at random, and users edit, scale,
delete and replace owners and children, and add marks of their own. Afterwards, everything has to be as desired, with
every mark in place. [test/trials/chaos](../test/trials/chaos) has the trial.

This page is the result of ` + "`make chaos DURATION=%s OWNERS=%d SEED=%d UPDATE=1`" + `. The time is that of a machine with
%s; another run has the same faults, but not the same timing.

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="chaos/timeline-dark.svg">
  <img alt="Faults, actions of users and requests of the operators on one axis of time" src="chaos/timeline-light.svg">
</picture>

The areas are actions of users, and requests of the operators except lists, watches, events and those for the leader
election.

` + "```text\n%s```" + `

- **Not as desired**: owners, children, claims and rows that differ from the last specification. All children with their
  owner references, digests and rollouts count, and the status of the owners.
- **Marks in place**: labels, annotations, finalizers, conditions, containers, variables, ports and keys that users added.
  A mark goes with its object, and when a user replaces the object.
- **Deletions**: from the audit log of the API server. An operator may delete a child if its owner is deleted, and if the
  owner's specification says so.
- **Writes of a child**: of children that are never as desired, since the last fault. The first few come quickly, and then
  at most one a minute.
- **Goroutines and MiB**: before the faults, when everything is at rest, and later.
`

// writePage writes docs/chaos.md and its pictures.
func writePage(report trial.Report, cpu string) error {
	root, err := places.Repository()
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "docs", "chaos")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	drawn := draw(report)
	for _, theme := range timeline.Themes {
		var text strings.Builder
		if err := drawn.Write(&text, theme); err != nil {
			return err
		}
		if err := write(filepath.Join(folder, "timeline-"+theme.Name+".svg"), text.String()); err != nil {
			return err
		}
	}
	plan := report.Plan
	text := fmt.Sprintf(pageText, plan.Duration, plan.Owners, plan.Seed, cpu, report)
	return write(filepath.Join(root, "docs", "chaos.md"), text)
}

func write(path, text string) error {
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // a page for everybody to read
}

// draw returns the timeline of a run.
func draw(report trial.Report) timeline.Timeline {
	since := func(at time.Time) time.Duration { return at.Sub(report.Began) }
	drawn := timeline.Timeline{
		Title:   "Chaos",
		Length:  since(report.Rested) + report.Plan.Quiet,
		Moments: []timeline.Moment{{Name: "last fault ends", At: since(report.Ended)}, {Name: "at rest", At: since(report.Rested)}},
	}
	for _, event := range report.Events {
		at := slices.IndexFunc(drawn.Lanes, func(lane timeline.Lane) bool { return lane.Name == event.Lane })
		if at < 0 {
			at = len(drawn.Lanes)
			drawn.Lanes = append(drawn.Lanes, timeline.Lane{Name: event.Lane})
		}
		lane := &drawn.Lanes[at]
		lane.Bars = append(lane.Bars, timeline.Bar{Text: event.What, From: since(event.From), To: since(event.To)})
	}
	slices.SortFunc(drawn.Lanes, func(a, b timeline.Lane) int { return strings.Compare(a.Name, b.Name) })
	actions := timeline.Series{Name: "actions of users"}
	for _, entry := range report.Journal {
		actions.Times = append(actions.Times, since(entry.At))
	}
	drawn.Series = append(drawn.Series, actions)
	for _, name := range report.Operators() {
		requests := timeline.Series{Name: name}
		for _, at := range report.Sent[name] {
			requests.Times = append(requests.Times, since(at))
		}
		drawn.Series = append(drawn.Series, requests)
	}
	return drawn
}
