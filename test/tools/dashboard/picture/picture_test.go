package picture_test

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trueup-go/trueup/test/tools/dashboard/grafana"
	"github.com/trueup-go/trueup/test/tools/dashboard/picture"
	"github.com/trueup-go/trueup/test/tools/dashboard/record"
)

// TestDraw draws the recorded run with the current page: none of its panels may be empty.
func TestDraw(t *testing.T) {
	d, err := grafana.Read("../../../../docs/dashboard.json")
	require.NoError(t, err)
	r, err := record.Read("../testdata/run.yaml")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "page.png")
	require.NoError(t, picture.Draw(t.Context(), d, r, path))
	file, err := os.Open(path)
	require.NoError(t, err)
	_, err = png.Decode(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	require.ErrorContains(t, picture.Draw(t.Context(), d, record.New(time.Second), path), "it shows nothing")
	require.ErrorContains(t, picture.Draw(t.Context(), &grafana.Dashboard{}, r, path), "has no panel")
}
