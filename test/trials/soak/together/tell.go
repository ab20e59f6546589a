package together

import (
	"errors"
	"strings"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// A checkpoint is a moment from which requests, writes and errors are counted.
type checkpoint struct {
	request cluster.Mark
	writes  []int
	errors  []int
}

func (e *environment) now() checkpoint {
	m := checkpoint{request: e.cluster.Mark()}
	for i := range e.kinds {
		m.writes = append(m.writes, e.writes(i))
		m.errors = append(m.errors, len(e.errorLines(i)))
	}
	return m
}

// writes returns how often an operator logged a write of a child or a row.
func (e *environment) writes(kind int) int {
	return len(e.processes[kind].Entries("wrote child", "wrote row", "deleted child"))
}

// contests returns how often an operator logged that it backed off in a contest.
func (e *environment) contests(kind int) int {
	n := 0
	for _, entry := range e.processes[kind].Entries("cannot reconcile") {
		if entry.Text("reason") == "Contested" {
			n++
		}
	}
	return n
}

// errorLines returns the errors that an operator logged.
func (e *environment) errorLines(kind int) []string {
	var found []string
	for line := range strings.Lines(e.processes[kind].Log()) {
		if strings.Contains(line, `"level":"error"`) {
			found = append(found, line)
		}
	}
	return found
}

func (e *environment) reportStorm(r *Result, kind int, began checkpoint) error {
	k := e.kinds[kind]
	r.Operator = k.operator
	for _, o := range e.objectsOf(k) {
		if !o.isGone {
			r.Objects++
			r.Children += len(o.children())
		}
	}
	for _, w := range e.workers {
		r.Done += w.done[k]
		r.Late += w.late[k]
	}
	sent, err := e.sent(kind, began.request)
	r.Storm = len(sent)
	return err
}

func (e *environment) reportQuiet(r *Result, kind int, began, quiet checkpoint) error {
	r.Writes = e.writes(kind) - began.writes[kind]
	r.Errors = len(e.errorLines(kind)) - began.errors[kind]
	r.Contests = e.contests(kind)
	select {
	case <-e.processes[kind].Exited():
		return errors.New("the operator " + r.Operator + " has ended")
	default:
	}
	sent, err := e.sent(kind, quiet.request)
	r.Quiet = cluster.Counts(sent)
	return err
}
