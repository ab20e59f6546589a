// Package replay records the answers of an API server to the writes of a contestant, and answers the same writes again
// without the API server.
package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/trueup-go/trueup/bench/internal/contest"
)

// The names of the steps, in their order. Before each, the child has settled.
const (
	Create  = "create"              // there is no child
	Nothing = "nothing to do"       // since the last pass
	Status  = "a status changed"    // where the kind has one
	Drift   = "drift"               // somebody else changed a field that the operator decides
	Change  = "a change of desired" // of one field
	Restart = "restart"             // of the operator, which loses its memory
)

// Steps returns the names of the steps, in their order.
func Steps() []string { return []string{Create, Nothing, Status, Drift, Change, Restart} }

// Revision returns the revision of the desired child in a step.
func Revision(step string) int {
	if step == Change || step == Restart {
		return 1
	}
	return 0
}

// A Step is one pass of a contestant over one child, as it was recorded.
type Step struct {
	Name string `json:"name"`
	// Live is the child before the pass, as the API server answers a read. There is none before the creation.
	Live *Body `json:"live,omitempty"`
	// Request and Answer are those of the write. There is none where the contestant finds nothing to do.
	Request *Request `json:"request,omitempty"`
	Answer  *Answer  `json:"answer,omitempty"`
}

// A Request is a write.
type Request struct {
	Method string `json:"method"`
	URL    string `json:"url"` // path and query
	Body   Body   `json:"body"`
}

// An Answer is the answer of an API server to a write.
type Answer struct {
	Status int  `json:"status"`
	Body   Body `json:"body"`
}

// Slug returns the name of a contestant as that of a folder or a namespace.
func Slug(c contest.Contestant) string {
	return strings.ToLower(strings.NewReplacer(", ", "-", " ", "-").Replace(c.Name))
}

// File returns the path of the file that has the steps of a contestant with one child.
func File(c contest.Contestant, child contest.Child) string {
	return path.Join(Slug(c), strings.ToLower(child.Kind.Kind)+".json")
}

// readSteps reads the steps of a contestant with one child.
func readSteps(recordings fs.FS, c contest.Contestant, child contest.Child) (map[string]Step, error) {
	text, err := fs.ReadFile(recordings, File(c, child))
	if err != nil {
		return nil, fmt.Errorf("cannot read the recording: %w", err)
	}
	var steps []Step
	if err := json.Unmarshal(text, &steps); err != nil {
		return nil, fmt.Errorf("cannot parse the recording %s: %w", File(c, child), err)
	}
	byName := make(map[string]Step, len(steps))
	for _, step := range steps {
		byName[step.Name] = step
	}
	for _, name := range Steps() {
		if _, found := byName[name]; !found {
			return nil, fmt.Errorf("the recording %s has no step %q", File(c, child), name)
		}
	}
	return byName, nil
}

// In a recording, each field of a spec and each entry of the managed fields is one line: six levels are indented.
var (
	deepLine = regexp.MustCompile(`\n\t{7,}`)
	deepEnd  = regexp.MustCompile(`\n\t{6}([}\]])`)
)

// Format returns the content of a file for steps.
func Format(steps []Step) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "\t")
	if err := encoder.Encode(steps); err != nil {
		return nil, fmt.Errorf("cannot encode the steps: %w", err)
	}
	return deepEnd.ReplaceAll(deepLine.ReplaceAll(text.Bytes(), nil), []byte("$1")), nil
}
