package together

import (
	"errors"
	"strings"

	"github.com/trueup-go/trueup/test/harness/cluster"
)

// A moment is when something began.
type moment struct {
	request cluster.Mark
	writes  []int
	errors  []int
}

func (s *stage) now() moment {
	m := moment{request: s.cluster.Mark()}
	for i := range s.kinds {
		m.writes = append(m.writes, s.writes(i))
		m.errors = append(m.errors, len(s.complaints(i)))
	}
	return m
}

// writes returns how often an operator logged a write of a child or a row.
func (s *stage) writes(kind int) int {
	return len(s.processes[kind].Entries("wrote child", "wrote row", "pruned child"))
}

// contests returns how often an operator logged that it backed off in a contest.
func (s *stage) contests(kind int) int {
	n := 0
	for _, entry := range s.processes[kind].Entries("cannot reconcile") {
		if entry.Text("reason") == "Contested" {
			n++
		}
	}
	return n
}

// complaints returns the errors that an operator logged.
func (s *stage) complaints(kind int) []string {
	var found []string
	for line := range strings.Lines(s.processes[kind].Log()) {
		if strings.Contains(line, `"level":"error"`) {
			found = append(found, line)
		}
	}
	return found
}

func (s *stage) tellOfStorm(r *Result, kind int, began moment) error {
	k := s.kinds[kind]
	r.Operator = k.operator
	for _, o := range s.objectsOf(k) {
		if !o.isGone {
			r.Objects++
			r.Children += len(o.children())
		}
	}
	for _, h := range s.hands {
		r.Done += h.done[k]
		r.Late += h.late[k]
	}
	sent, err := s.sent(kind, began.request)
	r.Storm = len(sent)
	return err
}

func (s *stage) tellOfQuiet(r *Result, kind int, began, quiet moment) error {
	r.Writes = s.writes(kind) - began.writes[kind]
	r.Errors = len(s.complaints(kind)) - began.errors[kind]
	r.Contests = s.contests(kind)
	select {
	case <-s.processes[kind].Exited():
		return errors.New("the operator " + r.Operator + " has ended")
	default:
	}
	sent, err := s.sent(kind, quiet.request)
	r.Quiet = cluster.Counts(sent)
	return err
}
