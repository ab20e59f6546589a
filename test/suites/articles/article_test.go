package articles_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// An article is a published text whose reader tries the operator.
type article struct {
	// Title is the operator's kind.
	Title string `json:"title"`
	// Sources are where the lines are from.
	Sources []source `json:"sources"`
	// Folder is where the reader has the operator's project, below the home folder.
	Folder string `json:"folder"`
	// Environment has the values for the placeholders of the article.
	Environment map[string]string `json:"environment"`
	Steps       []step            `json:"steps"`
}

type source struct {
	Address string `json:"address"`
	Has     string `json:"has"`
}

// A step is one of these: Do, See, Happens, Leave.
type step struct {
	// Do is a line that changes something. It is entered once.
	Do string `json:"do"`
	// See is a line that only reads. It is entered until the output is as expected.
	See string `json:"see"`
	// Happens names an event without the reader's action, see articleTest.
	Happens string `json:"happens"`
	// Leave are lines that are not entered, for one of the reasons.
	Leave []string `json:"leave"`

	// Shows are regular expressions, all of which match the line's output.
	Shows []string `json:"shows"`
	// Ours marks a line of ours for a step that the article describes in words.
	Ours bool `json:"ours"`
	// Fails gives the reason why the line does not work with this operator.
	Fails string `json:"fails"`
	// Why a line is left out, one of the reasons.
	Why string `json:"why"`
}

// reasons are why lines are left out.
var reasons = map[string]string{
	"developing": "they write, build or push the operator, or run it from its source. Here the test builds it, and runs it as its Deployment says",
	"source":     "they get the article's own code. The operator is the one below examples",
	"cluster":    "they get a cluster, or log in to one. The test has its own",
	"container":  "they need a container that runs. Nothing runs in the pods of the test's cluster",
	"others":     "they install what is no part of this operator: another operator, a webhook's certificates, OLM",
	"layout":     "they name files of a project layout that operator-sdk has given up. What replaced them is applied by `make deploy`",
	"older":      "they are of the version of 2019, which has another API group, operator-sdk's layout of then, and `oc`",
	"beta":       "they are of the repository that continued it, IBM/operator-sample-go, with a version v1beta1 and its conversion webhook",
}

func load(t *testing.T, name string) article {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name, "article.yaml"))
	require.NoError(t, err)
	var a article
	require.NoError(t, yaml.UnmarshalStrict(text, &a))
	for i := range a.Steps {
		require.NoError(t, a.Steps[i].check())
	}
	return a
}

// check finds steps that could not fail.
func (s *step) check() error {
	if s.See != "" && len(s.Shows) == 0 {
		return fmt.Errorf("%s: it looks for nothing", s.See)
	}
	if _, ok := reasons[s.Why]; len(s.Leave) > 0 && !ok {
		return fmt.Errorf("%s: %q is no reason", s.Leave[0], s.Why)
	}
	for _, pattern := range s.Shows {
		if _, err := regexp.Compile(pattern); err != nil {
			return err
		}
	}
	return nil
}

// checkOutput compares the output and the exit status of a line with the step.
func (s *step) checkOutput(printed string, ended error) error {
	if ended != nil && s.Fails == "" {
		return fmt.Errorf("it fails with %w:\n%s", ended, printed)
	}
	if ended == nil && s.Fails != "" {
		return fmt.Errorf("it works, although %s:\n%s", s.Fails, printed)
	}
	var missing []error
	for _, pattern := range s.Shows {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(printed) {
			missing = append(missing, fmt.Errorf("it does not show %s:\n%s", pattern, printed))
		}
	}
	return errors.Join(missing...)
}
