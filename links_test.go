package trueup_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// In Markdown: the target of a link without its anchor, or of a picture, and code, which has no links.
var (
	link = regexp.MustCompile(`(?:\]\(|\b(?:src|srcset)=")([^)#"\s]+)[^)"]*[)"]`)
	code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// TestLinks follows every relative link of every Markdown file in the repository.
func TestLinks(t *testing.T) {
	followed := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			target := match[1]
			if strings.Contains(target, ":") {
				continue // elsewhere
			}
			followed++
			_, err := os.Stat(filepath.Join(filepath.Dir(path), target))
			require.NoError(t, err, "%s links to %s", path, target)
		}
		return nil
	}))
	require.Greater(t, followed, 20, "links are no longer found")
}
