package faults_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/trials/soak/faults"
)

// good is a report that misses nothing.
func good() faults.Report {
	return faults.Report{
		Plan: faults.Long(7),
		Results: []faults.Result{
			{Trial: "first", Tally: faults.Tally{Objects: 100, Rows: 100}, Happened: []string{"1 kill"}, Took: time.Minute},
			{Trial: "second", Tally: faults.Tally{Objects: 200, Rows: 100}, Happened: []string{"2 freezes", "1 kill"}},
		},
	}
}

func TestMissed(t *testing.T) {
	require.NoError(t, good().Missed())
	for _, c := range []struct {
		reason string
		spoil  func(*faults.Result)
		want   string
	}{
		{"a lost object", func(r *faults.Result) { r.Lost = 1 }, "missed: second: of 200 objects and 100 rows, 1 are lost"},
		{"a row twice", func(r *faults.Result) { r.Doubled = 1 }, "1 doubled"},
		{"something left behind", func(r *faults.Result) { r.LeftBehind = 1 }, "1 left behind"},
		{"a write of somebody else", func(r *faults.Result) { r.Violations = []string{"left wrote"} }, "one of 1 trespasses: left wrote"},
		{"a trial that could not be done", func(r *faults.Result) { r.Err = errors.New("no database") }, "no database"},
		{"a trial of nothing", func(r *faults.Result) { r.Objects = 0 }, "nothing was compared"},
		{"logs", func(r *faults.Result) { r.Lost, r.Logs = 1, "/folder" }, "the operators' logs are in /folder"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			report := good()
			c.spoil(&report.Results[1])
			require.ErrorContains(t, report.Missed(), c.want)
		})
	}
}

func TestWhatCannotBeDoneIsSkipped(t *testing.T) {
	report := good()
	report.Results[0] = faults.Result{Trial: "first", Err: fmt.Errorf("not our server: %w", errors.ErrUnsupported)}
	require.NoError(t, report.Missed())
	require.Regexp(t, `first +skipped: not our server: unsupported operation\n`, report)
}

func TestReportShowsEachTrial(t *testing.T) {
	text := good().String()
	for _, want := range []string{
		`200 created and 100 deleted in each cluster, seed 7\n`,
		`first +100 +100 +0 +0 +0 +0 +1 kill; 1m0s in all\n`,
		`second +200 +100 +0 +0 +0 +0 +2 freezes, 1 kill; 0s in all\n`,
	} {
		require.Regexp(t, want, text)
	}
}
