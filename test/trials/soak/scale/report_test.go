package scale_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/trials/soak/scale"
)

// good is a report that misses nothing, by as little as may be.
func good() scale.Report {
	size := scale.Size{
		Children: 1_000, Converging: scale.Requests{Sent: 1_010, Created: 1_000}, Passes: 5, Instances: 1,
		Time: 10 * time.Microsecond, Heap: 3_000, Memory: 400,
	}
	larger := size
	larger.Children, larger.Converging.Created, larger.Time, larger.Heap = 10_000, 10_000, 20*time.Microsecond, 2_500
	return scale.Report{Sizes: []scale.Size{size, larger}}
}

func TestMissed(t *testing.T) {
	require.NoError(t, good().Missed())
	for _, c := range []struct {
		reason string
		spoil  func(*scale.Report)
		want   string
	}{
		{"a child that was not made", func(r *scale.Report) { r.Sizes[1].Converging.Created-- }, "9999 creates for 10000 children"},
		{"a request in a pass", func(r *scale.Report) { r.Sizes[0].Resyncs = one() }, "1 requests in passes over 1000 children: map[get roles:1]"},
		{"a request after a restart", func(r *scale.Report) { r.Sizes[1].Restarts = one() }, "1 requests after restarts over 10000 children"},
		{"time that grows", func(r *scale.Report) { r.Sizes[1].Time = 21 * time.Microsecond }, "10µs per child with 1000 children and 21µs with 10000"},
		{"time that shrinks", func(r *scale.Report) { r.Sizes[1].Time = 4 * time.Microsecond }, "10µs per child with 1000 children and 4µs with 10000"},
		{"a time below that without children", func(r *scale.Report) { r.Sizes[0].Time = -1 }, "-1ns per child"},
		{"memory that grows", func(r *scale.Report) { r.Sizes[1].Heap = 3_700 }, "3000 B with 1000 children and 3700 B with 10000"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			report := good()
			c.spoil(&report)
			require.ErrorContains(t, report.Missed(), c.want)
		})
	}
}

func one() scale.Requests {
	return scale.Requests{Sent: 1, Kinds: map[string]int{"get roles": 1}}
}

func TestReportShowsEachSize(t *testing.T) {
	text := good().String()
	for _, want := range []string{
		`children +1000 +10000 +\n`,
		`heap, per child +3000 B +2500 B +within 20 %`,
	} {
		require.Regexp(t, want, text)
	}
}
