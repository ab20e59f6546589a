package together_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/trials/soak/together"
)

// good is a report that misses nothing.
func good() together.Report {
	return together.Report{
		Plan: together.Long(7),
		Results: []together.Result{
			{Operator: "first", Objects: 100, Children: 300, Done: 600, Late: 4, Writes: 500, Storm: 1000, Converged: 2 * time.Second},
			{Operator: "second", Objects: 90, Done: 500, Writes: 400, Errors: 2, Storm: 900, Converged: 3 * time.Second},
		},
		Marks: together.Tally{Made: 250},
	}
}

func TestMissed(t *testing.T) {
	require.NoError(t, good().Missed())
	for _, c := range []struct {
		reason string
		spoil  func(*together.Report)
		want   string
	}{
		{"something not as desired", func(r *together.Report) { r.Unrest = errors.New("Service a/b: it is not there") }, "missed: Service a/b: it is not there"},
		{"a lost mark", func(r *together.Report) { r.Marks.Lost = 1 }, "1 of 250 marks are lost"},
		{"no marks", func(r *together.Report) { r.Marks.Made = 0 }, "no mark was compared"},
		{"a request at rest", func(r *together.Report) { r.Results[1].Quiet = map[string]int{"get services": 2} }, "second: requests when all is as it should be: map[get services:2]"},
		{"a contest", func(r *together.Report) { r.Results[0].Contests = 1 }, "first: it gave way 1 times"},
		{"no objects", func(r *together.Report) { r.Results[0].Objects = 0 }, "first: 600 acts on 0 objects prove nothing"},
		{"no acts", func(r *together.Report) { r.Results[0].Done = 0 }, "first: 0 acts on 100 objects prove nothing"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			report := good()
			c.spoil(&report)
			require.ErrorContains(t, report.Missed(), c.want)
		})
	}
}

func TestReportShowsEachOperator(t *testing.T) {
	text := good().String()
	for _, want := range []string{
		`2 operators together, 8 workers active for 2m0s, seed 7\n`,
		`first +100 +300 +600 +4 +500 +0 +0 +1000 +2s +0\n`,
		`second +90 +0 +500 +0 +400 +2 +0 +900 +3s +0\n`,
		`foreign marks: 250 of 250 present\n`,
	} {
		require.Regexp(t, want, text)
	}
}
