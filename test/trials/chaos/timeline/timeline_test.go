package timeline_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/trials/chaos/timeline"
)

func TestWrite(t *testing.T) {
	drawn := timeline.Timeline{
		Title:  "a <run>",
		Length: 90 * time.Second,
		Lanes: []timeline.Lane{
			{Name: "server", Bars: []timeline.Bar{{Text: "killed & restarted", From: 10 * time.Second, To: 30 * time.Second}}},
			{Name: "nothing"},
		},
		Series:  []timeline.Series{{Name: "requests", Times: []time.Duration{time.Second, time.Second, time.Hour}}, {Name: "none"}},
		Moments: []timeline.Moment{{Name: "at rest", At: 80 * time.Second}},
	}
	for _, theme := range timeline.Themes {
		t.Run(theme.Name, func(t *testing.T) {
			var text strings.Builder
			require.NoError(t, drawn.Write(&text, theme))
			require.NoError(t, wellFormed(text.String()))
			for _, want := range []string{"a &lt;run&gt;", "killed &amp; restarted 0:10 to 0:30", ">at rest<", ">1:20<", ">requests<"} {
				require.Contains(t, text.String(), want)
			}
		})
	}
}

// wellFormed returns an error unless the text is XML.
func wellFormed(text string) error {
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
